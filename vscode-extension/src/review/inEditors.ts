// What is pending in the documents of this window.

import type { PendingFile, ReviewFileResult } from "@snapd/client";
import { type TextDocument, type TextEditor, window } from "vscode";
import { requestName } from "../model/changes";
import { linesOf } from "../model/documentLines";
import { nameNow, placeOf } from "../documents/uris";
import type { FolderModel } from "../model/folder";
import type { FileIn, WorkspaceModel } from "../model/workspace";
import { type PlacedHunk, hunkAt, placeHunks } from "./placing";

/** A document with pending hunks. */
export interface PendingDocument {
  readonly folder: FolderModel;
  readonly review: ReviewFileResult;
  readonly hunks: readonly PlacedHunk[];
}

/** The target of a command on a hunk, as shown. */
export interface HunkTarget {
  readonly kind: "hunk";
  readonly folder: FolderModel;
  readonly pending: Pick<ReviewFileResult, "file" | "uri" | "id">;
  /** Absent where only the file as a whole can be decided about: it is new. */
  readonly hunks?: readonly number[];
}

/** The pending hunks of a document that are loaded and can be shown in it. */
export function pendingIn(model: WorkspaceModel, document: TextDocument): PendingDocument | undefined {
  const file = model.fileOf(document.uri.toString());
  const review = file?.folder.review.shown(file.name);
  if (file === undefined || review === undefined) return undefined;
  const hunks = placeHunks(review, linesOf(document));
  return hunks.length === 0 ? undefined : { folder: file.folder, review, hunks };
}

/** The hunk of a document, for commands. */
export function targetOf({ folder, review }: PendingDocument, { hunk }: PlacedHunk): HunkTarget {
  const { file, uri, id, status } = review;
  const pending = { file, ...(uri !== undefined && { uri }), id };
  return { kind: "hunk", folder, pending, ...(status === "modified" && { hunks: [hunk.index] }) };
}

/** The hunk in which the cursor of the active editor is. */
export function hunkAtCursor(model: WorkspaceModel): HunkTarget | undefined {
  const editor = window.activeTextEditor;
  const pending = editor === undefined ? undefined : pendingIn(model, editor.document);
  if (editor === undefined || pending === undefined) return undefined;
  const hunk = hunkAt(pending.hunks, editor.selection.active.line);
  return hunk === undefined ? undefined : targetOf(pending, hunk);
}

/** Has the hunks and comments of just the files in these editors followed, and of those of which a step is shown. */
export function followEditors(model: WorkspaceModel, editors: readonly TextEditor[]): void {
  const files = editors.flatMap(({ document }): FileIn[] => {
    const place = placeOf(document.uri.toString());
    const folder = model.folders.find(({ uri }) => uri === place?.folder);
    if (place?.stepId !== undefined && folder !== undefined) return [{ folder, name: nameNow(place) }];
    const file = model.fileOf(document.uri.toString());
    return file === undefined ? [] : [file];
  });
  for (const folder of model.folders) {
    const names = new Set(files.filter((file) => file.folder === folder).map(({ name }) => name));
    folder.review.follow(names);
    folder.comments.follow(names);
  }
}

/** A file with pending lines, which need not be shown in any editor; undefined where it has none. */
export function withPendingLines({
  folder,
  name,
}: FileIn): Pick<PendingFile, "file" | "uri" | "renamedFrom"> | undefined {
  const shown = folder.review.shown(name);
  if (shown !== undefined && shown.hunks.length > 0) return shown;
  return folder.review.files.find((file) => file.hunks > 0 && requestName(file) === name);
}
