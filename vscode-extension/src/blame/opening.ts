// Opens the step that wrote a line.

import type { FileChange } from "@snapd/client";
import { window } from "vscode";
import { historyOf } from "../documents/contents";
import { openFileDiff } from "../documents/diffs";
import type { ChangedFile } from "../model/changes";
import type { FileIn } from "../model/workspace";
import type { BlamedStep } from "./words";

/**
 * Opens what a step changed in a file, whatever the file was called then.
 *
 * @throws SnapdError, ConnectionLostError: see `SnapdClient.request`.
 */
export async function openBlamed({ folder, name }: FileIn, { sessionId, stepId }: BlamedStep): Promise<void> {
  for await (const entry of historyOf(folder, name, { sessionId })) {
    const [file] = entry.files;
    if (entry.step?.stepId !== stepId || file === undefined) continue;
    await openFileDiff(folder, entry, withSource(file));
    return;
  }
  void window.showInformationMessage(`The step that wrote this line of ${name} is no longer in the history.`);
}

function withSource(file: FileChange): ChangedFile {
  if (file.renamedFrom === undefined) return file;
  return { ...file, movedFrom: { ...file, file: file.renamedFrom, status: "deleted" } };
}
