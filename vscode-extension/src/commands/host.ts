// What the commands work with: the folders, the active editor, and who carries actions out.

import type { Acting } from "../acting/acting";
import type { ActingFolder } from "../acting/action";
import type { DiffSide, LineRange } from "../model/hunks";
import type { ShownPending } from "../acting/reviewing";
import type { World } from "../acting/world";
import type { Turn } from "../model/turns";
import type { FileChange, Step } from "@snapd/client";

/** What a command is about: an item of a view has these. */
export interface Target {
  readonly folder: Pick<ActingFolder, "uri">;
  readonly turn?: Turn;
  readonly step?: Step;
  readonly file?: Pick<FileChange, "file" | "uri">;
  /** A file with pending changes, as shown. */
  readonly pending?: ShownPending;
  /** The indexes of hunks: of the pending file, or of what the step changed in the file. */
  readonly hunks?: readonly number[];
}

/** The file that the active editor shows. */
export interface ShownFile {
  /** The workspaceUri. */
  readonly folder: string;
  /** The exact name. */
  readonly file: string;
  /** The step that it is shown for. */
  readonly stepId?: string;
  /** The side of that step that has the focus, with its lines and those that are selected. */
  readonly focus?: {
    readonly side: DiffSide;
    readonly lines: readonly string[];
    readonly selected: readonly LineRange[];
  };
}

/** Everything that commands need. */
export interface CommandHost {
  readonly world: World;
  readonly acting: Acting;
  folders(): readonly ActingFolder[];
  /** Why there are none, where there are none. */
  absence(): string;
  shown(): ShownFile | undefined;
  /** The pending hunk in which the cursor of the active editor is. */
  hunk(): Target | undefined;
}
