// Registers all commands that act on files or look at them.

import * as vscode from "vscode";
import { Acting } from "../acting/acting";
import { Refused } from "../acting/errors";
import type { World } from "../acting/world";
import { currentSettings } from "../daemon/window";
import type { Daemon } from "../daemon/daemon";
import type { DocumentSync } from "../daemon/documentSync";
import type { WorkspaceModel } from "../model/workspace";
import type { CommentThreads } from "../review/comments";
import { hunkAtCursor } from "../review/inEditors";
import { shownFile } from "./activeEditor";
import { registerCommentCommands } from "./comments";
import type { CommandHost, Target } from "./host";
import { registerLookingCommands } from "./looking";
import { restoreWorkspace } from "./restore";
import { keepAll, keepFile, keepHunk, undoFile, undoHunk } from "./review";
import { revertFile, revertSelected } from "./revert";
import { snapshotNow } from "./snapshot";
import { stageStep } from "./stage";
import { redo, rewind, undoLast, undoOne, undoWholeTurn } from "./undo";
import { VscodeUi } from "./vscodeUi";

/** The rooms of the extension that commands go through. */
export interface Rooms {
  readonly model: WorkspaceModel;
  readonly daemon: Daemon;
  readonly documentSync: DocumentSync;
  readonly threads: CommentThreads;
  readonly log: vscode.LogOutputChannel;
}

/** @param selected - where several items of a view are selected, and the command was called on one of them. */
type Command = (host: CommandHost, target: Target | undefined, selected: readonly Target[]) => Promise<void>;

/** For each command, what it is to do in words, and what does it. */
const COMMANDS: Readonly<Record<string, readonly [string, Command]>> = {
  "snapd.undoLast": ["undo the last step", undoLast],
  "snapd.redo": ["redo a step", redo],
  "snapd.undoStep": ["undo the step", undoOne],
  "snapd.undoTurn": ["undo the turn", undoWholeTurn],
  "snapd.rewind": ["go back to before the prompt", rewind],
  "snapd.revertFile": ["revert the file", revertFile],
  "snapd.revertHunks": ["revert the hunks", revertSelected],
  "snapd.keepHunk": ["keep the hunk", keepHunk],
  "snapd.undoHunk": ["undo the hunk", undoHunk],
  "snapd.keepFile": ["keep the changes of the file", keepFile],
  "snapd.undoFile": ["undo the changes of the file", undoFile],
  "snapd.keepAll": ["keep all changes", keepAll],
  "snapd.restoreBefore": ["restore the workspace", restoreWorkspace],
  "snapd.stageStep": ["stage the step's changes", stageStep],
  "snapd.snapshotNow": ["take a snapshot", snapshotNow],
};

/** Registers the commands. */
export function registerCommands(context: vscode.ExtensionContext, rooms: Rooms): void {
  const world = worldOf(rooms);
  const acting = new Acting(world);
  for (const [id, [aim, command]] of Object.entries(COMMANDS)) {
    const run = (argument: unknown, selection: unknown): Promise<void> => {
      const given = argument instanceof vscode.Uri ? argument : undefined;
      const host: CommandHost = {
        world,
        acting,
        folders: () => rooms.model.folders,
        absence: () => rooms.model.absence,
        shown: () => shownFile(rooms.model, given),
        hunk: () => hunkAtCursor(rooms.model),
      };
      const target = isTarget(argument) ? argument : undefined;
      const selected = Array.isArray(selection) ? selection.filter(isTarget) : [];
      return acting.attempt(aim, () => command(host, target, selected));
    };
    context.subscriptions.push(vscode.commands.registerCommand(id, run));
  }
  context.subscriptions.push(...registerCommentCommands(acting, rooms.threads));
  registerLookingCommands(context, rooms.model);
}

function worldOf({ model, daemon, documentSync, log }: Rooms): World {
  const folder: World["folder"] = (uri) => {
    const found = model.folders.find((each) => each.uri === uri);
    if (found !== undefined) return found;
    throw new Refused(daemon.client === undefined ? "Snapd is not connected." : "The folder is no longer open.");
  };
  return {
    ui: new VscodeUi(folder),
    folder,
    flush: () => documentSync.flush(),
    run: (args) => daemon.run(args),
    notifications: () => currentSettings().notifications,
    later: (work) => {
      work.catch((error: unknown) => {
        log.error(error instanceof Error ? error : String(error));
      });
    },
    log,
  };
}

function isTarget(argument: unknown): argument is Target {
  return typeof argument === "object" && argument !== null && "folder" in argument && "kind" in argument;
}
