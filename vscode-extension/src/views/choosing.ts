// Lets the user choose what a command is about, where it was not called on an item.

import type { Entry } from "@snapd/client";
import { type QuickPickItem, window } from "vscode";
import type { FolderModel } from "../model/folder";
import type { Turn } from "../model/turns";
import {
  ago,
  capitalized,
  counted,
  eventName,
  inList,
  lines,
  stepInSentence,
  takenBack,
  turnName,
} from "../model/wording";
import type { WorkspaceModel } from "../model/workspace";
import { followedBy, activeUri } from "./activeFile";
import type { FileItem } from "./items";
import { timelineOf } from "./timeline";

/** An entry, with the folder that it is one of. */
export interface ChosenEntry {
  readonly folder: FolderModel;
  readonly entry: Entry;
}

/** The only folder; or that of the active editor, or the one that the user picks. */
export async function chooseFolder(model: WorkspaceModel): Promise<FolderModel | undefined> {
  const [only, ...others] = model.folders;
  if (only === undefined) {
    void window.showInformationMessage(model.absence);
    return undefined;
  }
  if (others.length === 0) return only;
  const uri = activeUri(undefined);
  const active = uri === undefined ? undefined : followedBy(model, uri)?.folder;
  if (active !== undefined) return active;
  const picks = model.folders.map((folder) => ({ label: folder.name, folder }));
  return (await window.showQuickPick(picks, { placeHolder: "In which folder?" }))?.folder;
}

/** An entry that the user picks. */
export async function chooseEntry(model: WorkspaceModel): Promise<ChosenEntry | undefined> {
  const folder = await chooseFolder(model);
  if (folder === undefined) return undefined;
  const entries = folder.entries.filter(({ kind }) => kind !== "message");
  if (entries.length === 0) {
    void window.showInformationMessage("Nothing has happened here yet.");
    return undefined;
  }
  const now = Date.now();
  const picks = entries.map((entry): QuickPickItem & ChosenEntry => ({
    label: entryName(folder, entry),
    description: `${counted(entry.files.length, "file")} · ${ago(entry.at, now)}`,
    folder,
    entry,
  }));
  return window.showQuickPick(picks, { placeHolder: "Which step or change?", matchOnDescription: true });
}

/** A turn, with the folder that it is one of. */
export interface ChosenTurn {
  readonly folder: FolderModel;
  readonly turn: Turn;
}

/** A turn that the user picks. */
export async function chooseTurn(
  model: WorkspaceModel,
  isMeant: (turn: Turn) => boolean,
): Promise<ChosenTurn | undefined> {
  const folder = await chooseFolder(model);
  if (folder === undefined) return undefined;
  const turns = folder.turns.filter(isMeant);
  if (turns.length === 0) {
    void window.showInformationMessage("There is no such turn here yet.");
    return undefined;
  }
  const now = Date.now();
  const picks = turns.map((turn): QuickPickItem & ChosenTurn => ({
    label: inList(turnName(turn)),
    description: [takenBack(turn), counted(turn.steps.length, "step"), ago(turn.at, now)].filter(Boolean).join(" · "),
    folder,
    turn,
  }));
  return window.showQuickPick(picks, { placeHolder: "Which turn?", matchOnDescription: true });
}

/** A change of the file in the active editor that the user picks. */
export async function chooseChange(model: WorkspaceModel): Promise<FileItem | undefined> {
  const uri = activeUri(undefined);
  const followed = uri === undefined ? undefined : followedBy(model, uri);
  const found = followed === undefined ? [] : timelineOf(followed.folder, followed.name);
  if (found.length === 0) {
    void window.showInformationMessage("No step changed the file in the active editor.");
    return undefined;
  }
  const now = Date.now();
  const picks = found.map((item) => ({
    label: entryName(item.folder, item.entry),
    description: [lines([item.file]), ago(item.entry.at, now)].filter((part) => part !== "").join(" · "),
    item,
  }));
  return (await window.showQuickPick(picks, { placeHolder: "Which change of this file?" }))?.item;
}

/** What an entry is called in a list: "Step 3 “Edit”". */
export function entryName(folder: FolderModel, entry: Entry): string {
  if (entry.step === undefined) return inList(eventName(entry, (stepId) => folder.step(stepId)));
  return inList(capitalized(stepInSentence(entry.step)));
}
