// Opens pending changes in VS Code's own diff editors: the baseline beside the file as it is.

import type { PendingFile, ReviewFileResult } from "@snapd/client";
import { type Uri, commands, window } from "vscode";
import { requestName } from "../model/changes";
import { splitName } from "../model/fileUris";
import type { FolderModel } from "../model/folder";
import { counted } from "../model/wording";
import { baselinePlace, isLink } from "./baselines";
import { type Resource, documentOf, mayOpen, onDisk, openResources, openable } from "./diffs";

/**
 * Opens what is pending in a file, or says why there is nothing to open.
 *
 * @throws SnapdError, ConnectionLostError: see `SnapdClient.request`. Error: VS Code cannot open the file.
 */
export async function openPendingDiff(folder: FolderModel, file: PendingFile): Promise<void> {
  if (!hasLines(file)) {
    const found = await folder.review.file(requestName(file));
    const message = found === undefined ? "it no longer has pending changes" : withoutSides(found);
    if (message !== undefined) {
      void window.showInformationMessage(`${splitName(file.file).base}: ${message}.`);
      return;
    }
    // the other side of a picture would be an error
    if (file.status !== "modified") {
      await commands.executeCommand("vscode.open", sideOf(folder, file));
      return;
    }
  }
  const right = file.status === "deleted" ? nothing(folder, file) : openable(folder, file);
  await commands.executeCommand("vscode.diff", baselineOf(folder, file), right, titleOf(file));
}

/** Opens all texts that are pending in the multi-file diff editor, and says how many other files there are. */
export async function openAllPending(folder: FolderModel, files: readonly PendingFile[]): Promise<void> {
  const texts = files.filter((file) => hasLines(file) || (file.renamedFrom !== undefined && !file.binary));
  if (!(await mayOpen(texts.length))) return;
  const resources = texts.map((file): Resource => {
    const disk = onDisk(folder, file);
    const baseline = baselineOf(folder, file);
    return [disk, file.status === "added" ? undefined : baseline, file.status === "deleted" ? undefined : disk];
  });
  const left = files.length - texts.length;
  if (left > 0) {
    void window.showInformationMessage(`${counted(left, "file has", "files have")} no changed lines to show.`);
  }
  if (resources.length > 0 || left === 0) await openResources("Pending changes", resources);
}

/** The document with the baseline of a file. */
export function baselineOf(folder: Pick<FolderModel, "uri">, file: Parameters<typeof baselinePlace>[1]): Uri {
  return documentOf(baselinePlace(folder.uri, file));
}

/** Why there are no two sides to compare; undefined where there are, or one to look at. */
function withoutSides(found: ReviewFileResult): string | undefined {
  const { status, binary, tooLarge, renamedFrom, newMode } = found;
  if (isLink(found)) return "a symbolic link has no lines to show";
  if (binary || tooLarge === true || renamedFrom !== undefined || status === "added") return undefined;
  if (status === "deleted") return "it was deleted, and was empty";
  return `its text is the same, but it is ${newMode === "100755" ? "now executable" : "no longer executable"}`;
}

/** The only side that there is. */
function sideOf(folder: FolderModel, file: PendingFile): Uri {
  return file.status === "deleted" ? baselineOf(folder, file) : openable(folder, file);
}

/** Whether lines are pending: none are in what is not text, and where only the name or the mode is another. */
function hasLines({ hunks }: PendingFile): boolean {
  return hunks > 0;
}

function titleOf({ file, status, renamedFrom }: PendingFile): string {
  const what = status !== "modified" ? [status] : renamedFrom === undefined ? [] : [`was ${renamedFrom}`];
  return `${splitName(file).base} (${[...what, "pending"].join(", ")})`;
}

function nothing(folder: FolderModel, file: PendingFile): Uri {
  return documentOf({ folder: folder.uri, hash: "", file: requestName(file) });
}
