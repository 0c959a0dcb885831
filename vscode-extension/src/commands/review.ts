// Keeping pending changes, and undoing them.

import type { PendingFile } from "@snapd/client";
import type { ActingFolder } from "../acting/action";
import { Refused } from "../acting/errors";
import { exactName } from "../acting/names";
import { type Choice, choiceInSentence, keepPending, refuseUnsaved, undoPending } from "../acting/reviewing";
import { capitalized, counted, inList, lines, linesInWords } from "../model/wording";
import { chooseFolder } from "./choosing";
import type { Desk, Target } from "./desk";

const KEEP_ALL = "Keep All";

/** What a command is to decide about. */
interface Found {
  readonly folder: ActingFolder;
  readonly choice: Choice;
}

/** Keeps a hunk: that of the lens, or the one in which the cursor is. */
export async function keepHunk(desk: Desk, target: Target | undefined): Promise<void> {
  await keep(desk, findHunk(desk, target));
}

/** Undoes a hunk: that of the lens, or the one in which the cursor is. */
export async function undoHunk(desk: Desk, target: Target | undefined): Promise<void> {
  await undo(desk, findHunk(desk, target));
}

/** Keeps all that is pending in a file. */
export async function keepFile(desk: Desk, target: Target | undefined): Promise<void> {
  const found = await findFile(desk, target, "Keep File");
  if (found !== undefined) await keep(desk, found);
}

/** Makes a file what its baseline is. */
export async function undoFile(desk: Desk, target: Target | undefined): Promise<void> {
  const found = await findFile(desk, target, "Undo File");
  if (found !== undefined) await undo(desk, found);
}

/** Keeps all that is pending in a folder, once the user has heard how much that is. */
export async function keepAll(desk: Desk): Promise<void> {
  const folder = await chooseFolder(desk, "Keep All");
  if (folder === undefined) return;
  const { review } = folder;
  const files = review.isComplete ? review.files : await review.all();
  if (files.length === 0) throw new Refused(`Nothing is pending in ${folder.name}.`);
  const choice = { files };
  refuseUnsaved(folder, choice, desk.world);
  const answer = await desk.world.ui.ask({
    message: `Keep all pending changes of ${counted(files.length, "file")}?`,
    detail: [`${capitalized(linesInWords(files))}.`, "The files stay as they are, and are no longer listed as pending."]
      .filter((sentence) => sentence !== ".")
      .join(" "),
    choices: [KEEP_ALL],
  });
  if (answer !== KEEP_ALL) return;
  await keep(desk, { folder, choice });
  const message = `Kept the pending changes of ${counted(files.length, "file")}.`;
  desk.world.later(desk.acting.tell({ severity: "info", message, buttons: [] }));
}

async function keep(desk: Desk, { folder, choice }: Found): Promise<void> {
  try {
    await desk.world.ui.busy(`Keeping ${choiceInSentence(choice)}`, () => keepPending(folder, choice, desk.world));
  } finally {
    desk.world.later(folder.review.refresh());
  }
}

async function undo(desk: Desk, { folder, choice }: Found): Promise<void> {
  refuseUnsaved(folder, choice, desk.world);
  try {
    await desk.acting.act(undoPending(folder.uri, choice));
  } finally {
    desk.world.later(folder.review.refresh());
  }
}

function findHunk(desk: Desk, target: Target | undefined): Found {
  const { folder, pending, hunks } = target ?? desk.hunk() ?? {};
  if (folder === undefined || pending === undefined) {
    throw new Refused("The cursor is in no pending hunk. Go to one with Next Pending Hunk first.");
  }
  return {
    folder: desk.world.folder(folder.uri),
    choice: hunks === undefined ? { files: [pending] } : { files: [pending], hunks },
  };
}

/** The file of the row, that of the active editor, or one that the user is asked for. */
async function findFile(desk: Desk, target: Target | undefined, title: string): Promise<Found | undefined> {
  if (target?.pending !== undefined) {
    return { folder: desk.world.folder(target.folder.uri), choice: { files: [target.pending] } };
  }
  const folder = await chooseFolder(desk, title);
  if (folder === undefined) return undefined;
  const shown = desk.shown();
  const files = folder.review.isComplete ? folder.review.files : await folder.review.all();
  const name = shown?.folder === folder.uri ? shown.file : undefined;
  const file = files.find((each) => exactName(each) === name) ?? (await chooseFile(desk, folder, files, title));
  return file === undefined ? undefined : { folder, choice: { files: [file] } };
}

function chooseFile(
  desk: Desk,
  { name }: ActingFolder,
  files: readonly PendingFile[],
  title: string,
): Promise<PendingFile | undefined> {
  if (files.length === 0) throw new Refused(`Nothing is pending in ${name}.`);
  return desk.world.ui.choose({
    title,
    placeholder: "Choose a file with pending changes",
    rows: files.map((file) => ({ label: inList(file.file), description: lines([file]), value: file })),
  });
}
