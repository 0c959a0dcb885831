// Opens what changed in VS Code's own diff editors.

import { readFile } from "node:fs/promises";
import type { Entry, FileDiff, Step } from "@snapd/client";
import { FileSystemError, Uri, commands, window, workspace } from "vscode";
import { type ChangedFile, changeNamed, requestName } from "../model/changes";
import { fileUri, splitName } from "../model/fileUris";
import type { FolderModel } from "../model/folder";
import { type Turn, filesChanged } from "../model/turns";
import { capitalized, eventName, lowered, stepInSentence, takenBack, turnInSentence } from "../model/wording";
import { treeDiffs } from "./contents";
import { type Sides, sidesOf, stepOf, turnSides } from "./sides";
import { type Place, documentUri, nameNow } from "./uris";

/** Files that are opened unasked, at most. */
const UNASKED = 1000;

/** A row of the multi-file diff editor: the file, and its two sides. */
export type Resource = [Uri, Uri | undefined, Uri | undefined];

/**
 * Opens what an entry or a step changed in one file.
 *
 * @throws SnapdError, ConnectionLostError: see `SnapdClient.request`.
 */
export async function openFileDiff(folder: FolderModel, entry: Entry | Step, file: ChangedFile): Promise<void> {
  const [sides] = await sidesOf(folder, entry, [file]);
  const { base } = splitName(file.file);
  if (sides === undefined) {
    void window.showInformationMessage(`There are no changes of ${changeName(folder, entry)} to ${base} left to show.`);
    return;
  }
  const name = requestName(file);
  const left = documentOf(sides.before ?? missing(folder, name, entry, "before"));
  const right = documentOf(sides.after ?? missing(folder, name, entry, "after"));
  const what = sides.before === undefined ? "added, " : sides.after === undefined ? "deleted, " : "";
  await commands.executeCommand("vscode.diff", left, right, `${base} (${what}${changeName(folder, entry)})`);
}

/**
 * Opens all that an entry or a step changed in the multi-file diff editor; of a running step, what changed since.
 *
 * @throws SnapdError, ConnectionLostError: see `SnapdClient.request`.
 */
export async function openEntryDiff(folder: FolderModel, entry: Entry | Step): Promise<void> {
  const step = stepOf(entry);
  const title = capitalized(changeName(folder, entry));
  if (step?.state === "open") {
    await openTrees(folder, step.from, undefined, `${title} (so far)`);
    return;
  }
  const full = "from" in entry ? folder.entries.find((each) => each.step?.stepId === entry.stepId) : entry;
  const listed = "from" in entry ? (entry.files ?? []) : entry.files;
  if (!(await mayOpen(listed.length))) return;
  const files = full === undefined ? listed : await folder.changedFiles(full);
  await openSides(folder, title, await sidesOf(folder, entry, files));
}

/**
 * Opens all that a turn changed, as far as it is in force, in the multi-file diff editor; of a running turn, what the
 * steps that have ended changed; of one that was undone, all.
 *
 * @throws SnapdError, ConnectionLostError: see `SnapdClient.request`.
 */
export async function openTurnDiff(folder: FolderModel, turn: Turn): Promise<void> {
  const name = [capitalized(turnInSentence(turn)), takenBack(turn)].filter(Boolean).join(", ");
  const title = turn.state === "open" ? `${name} (so far)` : name;
  if (!(await mayOpen(filesChanged(turn)))) return;
  await openSides(folder, title, await turnSides(folder, turn));
}

/**
 * Opens a file as a step left it beside the file as it is now; a file that the step deleted as it was before.
 *
 * @throws SnapdError, ConnectionLostError: see `SnapdClient.request`.
 */
export async function openWithCurrent(folder: FolderModel, entry: Entry | Step, file: ChangedFile): Promise<void> {
  const [sides] = await sidesOf(folder, entry, [file]);
  const place = sides?.after ?? sides?.before ?? missing(folder, requestName(file), entry, "after");
  await openDocumentWithCurrent(folder, place);
}

/** Opens a read-only document beside the file as it is now. */
export async function openDocumentWithCurrent(folder: FolderModel, place: Place): Promise<void> {
  const change = changeNamed(nameNow(place));
  const disk = openable(folder, change);
  const isThere = await exists(disk);
  const right = isThere ? disk : documentOf({ ...place, hash: "" });
  const shownFor = placeName(folder, place);
  const tree = place.baseline === undefined ? place.hash.slice(0, 7) : "before the pending changes";
  const left = shownFor === undefined ? tree : `${place.side ?? "after"} ${shownFor}`;
  const title = `${splitName(change.file).base} (${left} ↔ ${isThere ? "current" : "deleted"})`;
  await commands.executeCommand("vscode.diff", documentOf(place), right, title);
}

/**
 * Opens what differs between two snapshots, or a snapshot and the current files, in the multi-file diff editor.
 *
 * @param to - undefined for the current files.
 * @throws SnapdError, ConnectionLostError: see `SnapdClient.request`.
 */
export async function openTrees(
  folder: FolderModel,
  from: string,
  to: string | undefined,
  title: string,
): Promise<void> {
  const params = { from, contents: false, renames: true, limit: UNASKED + 1 };
  const resources: Resource[] = [];
  let asked = false;
  for await (const diff of treeDiffs(folder, to === undefined ? params : { ...params, to })) {
    if (!asked && resources.length === UNASKED) {
      asked = true;
      if (!(await mayOpen(undefined))) return;
    }
    resources.push(resourceOf(folder, from, to, diff));
  }
  await openResources(title, resources);
}

/** The document of a place. */
export function documentOf(place: Place): Uri {
  return Uri.parse(documentUri(place), true);
}

/** The file as it is on disk. */
export function onDisk(folder: FolderModel, file: Pick<ChangedFile, "file" | "uri">): Uri {
  return Uri.parse(fileUri(folder.uri, file), true);
}

/**
 * The file as it is on disk, where VS Code can open it.
 *
 * @throws Error: its name is not valid UTF-8.
 */
export function openable(folder: FolderModel, file: Pick<ChangedFile, "file" | "uri">): Uri {
  if (file.uri !== undefined) throw new Error(`VS Code cannot open ${file.file}: its name is not valid UTF-8.`);
  return onDisk(folder, file);
}

/** Whether a file is there. */
export async function exists(uri: Uri): Promise<boolean> {
  try {
    await workspace.fs.stat(uri);
    return true;
  } catch (error) {
    if (error instanceof FileSystemError && error.code === "FileNotFound") return false;
    throw error;
  }
}

/** The text of a file on the disk; undefined where it cannot be read, or is not in UTF-8. */
export async function textOnDisk({ fsPath }: Uri): Promise<string | undefined> {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await readFile(fsPath));
  } catch (error) {
    // both of these have a code
    if (error instanceof Error && "code" in error) return undefined;
    throw error;
  }
}

function resourceOf(folder: FolderModel, from: string, to: string | undefined, diff: FileDiff): Resource {
  const disk = onDisk(folder, diff);
  const place = (hash: string, file: string) => documentOf({ folder: folder.uri, hash, file });
  const name = requestName(diff);
  return [
    disk,
    diff.status === "added" ? undefined : place(from, diff.renamedFrom ?? name),
    diff.status === "deleted" ? undefined : to === undefined ? disk : place(to, name),
  ];
}

async function openSides(folder: FolderModel, title: string, sides: readonly Sides[]): Promise<void> {
  const resources = sides.map(({ file, before, after }): Resource => [
    onDisk(folder, file),
    before === undefined ? undefined : documentOf(before),
    after === undefined ? undefined : documentOf(after),
  ]);
  await openResources(title, resources);
}

/** Opens files in the multi-file diff editor. */
export async function openResources(title: string, resources: readonly Resource[]): Promise<void> {
  if (resources.length === 0) {
    void window.showInformationMessage(`${title}: no file differs.`);
    return;
  }
  await commands.executeCommand("vscode.changes", title, resources);
}

/**
 * Asks whether so many files are to be opened, where that can take a while.
 *
 * @param count - undefined for more than are opened unasked.
 */
export async function mayOpen(count: number | undefined): Promise<boolean> {
  if (count !== undefined && count <= UNASKED) return true;
  const files = count === undefined ? `Over ${UNASKED} files` : `${count} files`;
  const answer = await window.showWarningMessage(
    `${files} differ. Opening all of them can take a while.`,
    { modal: true },
    "Open All",
  );
  return answer === "Open All";
}

/** Where the file was not there: an empty document. */
function missing(folder: FolderModel, file: string, entry: Entry | Step, side: "before" | "after"): Place {
  const step = stepOf(entry);
  const place = { folder: folder.uri, hash: "", file, side };
  return step === undefined ? place : { ...place, stepId: step.stepId };
}

/** The step, or the turn, that a document is shown for. */
function placeName(folder: FolderModel, { stepId, messageId, own }: Place): string | undefined {
  const step = stepId === undefined ? undefined : folder.step(stepId);
  if (step !== undefined) return stepInSentence(step);
  if (messageId === undefined || own === undefined) return undefined;
  const turn = folder.turn({ sessionId: own, messageId });
  return turn === undefined ? undefined : turnInSentence(turn);
}

function changeName(folder: FolderModel, entry: Entry | Step): string {
  const step = stepOf(entry);
  if (step !== undefined) return [stepInSentence(step), takenBack(step)].filter(Boolean).join(", ");
  return lowered(eventName(entry as Entry, (stepId) => folder.step(stepId)));
}
