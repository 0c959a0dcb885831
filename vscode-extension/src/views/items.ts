// What stands in the views: plain data, which the commands get as their argument.

import type { Entry, Session, Step } from "@snapd/client";
import type { ChangedFile } from "../model/changes";
import type { FolderModel } from "../model/folder";
import type { Turn } from "../model/turns";

interface Parts {
  /** The same for the same thing, whatever happens to it. */
  readonly id: string;
  readonly folder: FolderModel;
  readonly session?: Session;
  readonly turn?: Turn;
  readonly step?: Step;
  readonly entry?: Entry;
  readonly file?: ChangedFile;
}

/** A folder, where several are open. */
export interface FolderItem extends Parts {
  readonly kind: "folder";
}

/** A session, with its turns and steps below it. */
export interface SessionItem extends Parts {
  readonly kind: "session";
  readonly session: Session;
}

/** A turn, with its steps and what happened between them below it. */
export interface TurnItem extends Parts {
  readonly kind: "turn";
  readonly turn: Turn;
  /** Newest first. */
  readonly items: readonly EntryItem[];
  /** Whether it is the latest of its session that has steps below it. */
  readonly isLatest: boolean;
}

/** A step, with its parts and its files below it. */
export interface StepItem extends Parts {
  readonly kind: "step";
  readonly step: Step;
  readonly entry: Entry;
  readonly parts: readonly StepItem[];
}

/** What the user changed while no step was open. */
export interface UserItem extends Parts {
  readonly kind: "user";
  readonly entry: Entry;
}

/** An undo, a redo, a restore and the like. */
export interface OperationItem extends Parts {
  readonly kind: "operation";
  readonly entry: Entry;
}

/** A file of one of these; `step` is there where it is one of a step. */
export interface FileItem extends Parts {
  readonly kind: "file";
  readonly entry: Entry;
  readonly file: ChangedFile;
}

/** What has files below it. */
export type EntryItem = StepItem | UserItem | OperationItem;

/** A node of a view. */
export type Item = FolderItem | SessionItem | TurnItem | EntryItem | FileItem;

/** What the menus of package.json know an item by. */
export function contextValue(item: Item): string {
  switch (item.kind) {
    case "turn":
      return `turn.${item.turn.state}${item.turn.text === undefined ? "" : ".prompt"}`;
    case "step":
      return `step.${item.step.state}`;
    case "file":
      if (item.file.byGit === true) return "file.git";
      return item.step !== undefined ? "file.step" : item.entry.kind === "user" ? "file.user" : "file.operation";
    default:
      return item.kind;
  }
}
