// Keeping pending changes, and undoing them.

import type { PendingFile } from "@snapd/client";
import type { ActingFolder } from "../acting/action";
import { Refused } from "../acting/errors";
import { exactName } from "../acting/names";
import { type Choice, choiceInSentence, keepPending, refuseUnsaved, undoPending } from "../acting/reviewing";
import { capitalized, counted, inList, lines, linesInWords } from "../model/wording";
import { chooseFolder } from "./choosing";
import type { CommandHost, Target } from "./host";

const KEEP_ALL = "Keep All";

/** What a command is to decide about. */
interface Selection {
  readonly folder: ActingFolder;
  readonly choice: Choice;
}

/** Keeps a hunk: that of the lens, or the one in which the cursor is. */
export async function keepHunk(host: CommandHost, target: Target | undefined): Promise<void> {
  await keep(host, findHunk(host, target));
}

/** Undoes a hunk: that of the lens, or the one in which the cursor is. */
export async function undoHunk(host: CommandHost, target: Target | undefined): Promise<void> {
  await undo(host, findHunk(host, target));
}

/** Keeps all that is pending in a file. */
export async function keepFile(host: CommandHost, target: Target | undefined): Promise<void> {
  const found = await findFile(host, target, "Keep File");
  if (found !== undefined) await keep(host, found);
}

/** Makes a file what its baseline is. */
export async function undoFile(host: CommandHost, target: Target | undefined): Promise<void> {
  const found = await findFile(host, target, "Undo File");
  if (found !== undefined) await undo(host, found);
}

/** Keeps all that is pending in a folder, after the user has confirmed the amount. */
export async function keepAll(host: CommandHost): Promise<void> {
  const folder = await chooseFolder(host, "Keep All");
  if (folder === undefined) return;
  const { review } = folder;
  const files = review.isComplete ? review.files : await review.all();
  if (files.length === 0) throw new Refused(`Nothing is pending in ${folder.name}.`);
  const choice = { files };
  refuseUnsaved(folder, choice, host.world);
  const answer = await host.world.ui.ask({
    message: `Keep all pending changes of ${counted(files.length, "file")}?`,
    detail: [`${capitalized(linesInWords(files))}.`, "The files stay as they are, and are no longer listed as pending."]
      .filter((sentence) => sentence !== ".")
      .join(" "),
    choices: [KEEP_ALL],
  });
  if (answer !== KEEP_ALL) return;
  await keep(host, { folder, choice });
  const message = `Kept the pending changes of ${counted(files.length, "file")}.`;
  host.world.later(host.acting.notify({ severity: "info", message, buttons: [] }));
}

async function keep(host: CommandHost, { folder, choice }: Selection): Promise<void> {
  try {
    await host.world.ui.busy(`Keeping ${choiceInSentence(choice)}`, () => keepPending(folder, choice, host.world));
  } finally {
    host.world.later(folder.review.refresh());
  }
}

async function undo(host: CommandHost, { folder, choice }: Selection): Promise<void> {
  refuseUnsaved(folder, choice, host.world);
  try {
    await host.acting.act(undoPending(folder.uri, choice));
  } finally {
    host.world.later(folder.review.refresh());
  }
}

function findHunk(host: CommandHost, target: Target | undefined): Selection {
  const { folder, pending, hunks } = target ?? host.hunk() ?? {};
  if (folder === undefined || pending === undefined) {
    throw new Refused("The cursor is in no pending hunk. Go to one with Next Pending Hunk first.");
  }
  return {
    folder: host.world.folder(folder.uri),
    choice: hunks === undefined ? { files: [pending] } : { files: [pending], hunks },
  };
}

/** The file of the row, that of the active editor, or one that the user is asked for. */
async function findFile(host: CommandHost, target: Target | undefined, title: string): Promise<Selection | undefined> {
  if (target?.pending !== undefined) {
    return { folder: host.world.folder(target.folder.uri), choice: { files: [target.pending] } };
  }
  const folder = await chooseFolder(host, title);
  if (folder === undefined) return undefined;
  const shown = host.shown();
  const files = folder.review.isComplete ? folder.review.files : await folder.review.all();
  const name = shown?.folder === folder.uri ? shown.file : undefined;
  const file = files.find((each) => exactName(each) === name) ?? (await chooseFile(host, folder, files, title));
  return file === undefined ? undefined : { folder, choice: { files: [file] } };
}

function chooseFile(
  host: CommandHost,
  { name }: ActingFolder,
  files: readonly PendingFile[],
  title: string,
): Promise<PendingFile | undefined> {
  if (files.length === 0) throw new Refused(`Nothing is pending in ${name}.`);
  return host.world.ui.choose({
    title,
    placeholder: "Choose a file with pending changes",
    rows: files.map((file) => ({ label: inList(file.file), description: lines([file]), value: file })),
  });
}
