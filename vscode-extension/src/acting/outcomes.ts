// What became of files, in sentences.

import type { FileOutcome, OutcomeKind } from "@snapd/client";
import { counted } from "../model/wording";

/** How much a user has to know of it: everything went as asked; something needs a look; something went wrong. */
export type Severity = "info" | "warning" | "error";

const WRITTEN: readonly OutcomeKind[] = ["restored", "merged", "deleted"];

const REASONS: Readonly<Record<string, string>> = {
  already: "it is so already",
  onBranch: "the change is on another branch",
  stashed: "the change is in a stash",
  changedSince: "it was changed since",
  deletedSince: "it was deleted since",
  renamedSince: "it was moved since",
  occupied: "something else stands in its place",
  shared: "steps of several sessions may have made the change",
  unsavedInEditor: "an editor has unsaved text of it",
  changedMeanwhile: "it was changed at the same moment",
  conflictsElsewhere: "other files are in conflict",
  ignored: "it is ignored",
  tooLarge: "it is over the size limit",
  unreadable: "it cannot be read",
  special: "it is no regular file",
  unstable: "it changes all the time",
  unsupportedName: "its name is not supported",
  purged: "its contents were purged",
  inTheWay: "something that is not in a snapshot stands in its place",
  directoryNotEmpty: "a folder with other files stands in its place",
  onlyCopy: "it is the only copy of a file that was not captured before",
  clash: "another file of the same request stands in its place",
  storeCorrupt: "its snapshot is damaged",
};

/** The files that were written or deleted, or under a dry run would be. */
export function written(files: readonly FileOutcome[]): FileOutcome[] {
  return files.filter((file) => WRITTEN.includes(file.outcome));
}

/** The files that could not be taken back, and about which the user may decide. */
export function conflicts(files: readonly FileOutcome[]): FileOutcome[] {
  return files.filter((file) => file.outcome === "conflict");
}

/** How much a user has to know of what became of these files. */
export function severity(files: readonly FileOutcome[]): Severity {
  const kinds = new Set(files.map((file) => file.outcome));
  if (kinds.has("failed") || kinds.has("skipped")) return "error";
  return kinds.has("conflict") ? "warning" : "info";
}

/** What became of a file, for a list: "merged", "in conflict: it was changed since". */
export function outcomeText(file: FileOutcome): string {
  return because(KIND_TEXTS[file.outcome], file);
}

/** Why something is not what was asked for. */
export function reasonOf({ reason, branch, message }: FileOutcome): string | undefined {
  if (branch !== undefined) return `the change is on branch ${branch}`;
  return message ?? (reason === undefined ? undefined : reasonText(reason));
}

/** A reason in words. */
export function reasonText(reason: string): string {
  return REASONS[reason] ?? reason;
}

/**
 * What was done, in one sentence, and what was not, each in another.
 *
 * @param done - what was asked for, as of the past: "Undid step 3".
 */
export function report(done: string, files: readonly FileOutcome[]): string {
  return [`${done}: ${changesText(files)}.`, ...leftovers(files)].join(" ");
}

/** What was written: "2 files restored, 1 merged". */
export function changesText(files: readonly FileOutcome[]): string {
  const none = conflicts(files).length > 0 ? "no file was changed" : "no file had to be changed";
  return summed(files, (kind) => KIND_TEXTS[kind]) ?? none;
}

/** What is to be written, as a dry run foretells it: "2 files to be restored, 1 to be merged". */
export function plannedChangesText(files: readonly FileOutcome[]): string {
  return summed(files, (kind) => PLANNED_TEXTS[kind]) ?? "no file to be changed";
}

/** What is to become of a file, for a list: "to be merged", "in conflict: it was changed since". */
export function plannedText(file: FileOutcome): string {
  return because(PLANNED_TEXTS[file.outcome], file);
}

function summed(files: readonly FileOutcome[], text: (kind: OutcomeKind) => string): string | undefined {
  const parts = WRITTEN.flatMap((kind) => {
    const count = files.filter((file) => file.outcome === kind).length;
    return count === 0 ? [] : [{ kind, count }];
  });
  if (parts.length === 0) return undefined;
  return parts.map(({ kind, count }, at) => `${at === 0 ? counted(count, "file") : count} ${text(kind)}`).join(", ");
}

const KIND_TEXTS: Readonly<Record<OutcomeKind, string>> = {
  restored: "restored",
  merged: "merged",
  deleted: "deleted",
  unchanged: "unchanged",
  conflict: "in conflict",
  kept: "kept",
  skipped: "skipped",
  failed: "failed",
};

const PLANNED_TEXTS: Readonly<Record<OutcomeKind, string>> = {
  ...KIND_TEXTS,
  restored: "to be restored",
  merged: "to be merged",
  deleted: "to be deleted",
  kept: "to be kept",
  skipped: "to be skipped",
};

function because(text: string, file: FileOutcome): string {
  const why = reasonOf(file);
  return why === undefined ? text : `${text}: ${why}`;
}

function leftovers(files: readonly FileOutcome[]): string[] {
  const of = (kind: OutcomeKind): FileOutcome[] => files.filter((file) => file.outcome === kind);
  const sentences: string[] = [];
  const absent = files.filter(({ reason = "" }) => ["already", "onBranch", "stashed"].includes(reason));
  if (absent.length > 0) {
    sentences.push(`${counted(absent.length, "file was", "files were")} so already${onlyOne(absent)}.`);
  }
  const failed = of("failed");
  if (failed.length > 0) sentences.push(`${counted(failed.length, "file")} could not be written${onlyOne(failed)}.`);
  const skipped = of("skipped");
  if (skipped.length > 0) {
    sentences.push(`${counted(skipped.length, "file was", "files were")} skipped${onlyOne(skipped)}.`);
  }
  const left = of("conflict");
  if (left.length > 0) {
    const verb = counted(left.length, "file is in conflict and was", "files are in conflict and were");
    sentences.push(`${verb} left alone${onlyOne(left)}.`);
  }
  const kept = of("kept");
  if (kept.length > 0) sentences.push(`${counted(kept.length, "file was", "files were")} kept${onlyOne(kept)}.`);
  return sentences;
}

/** The file and the reason where it is one alone; several are in the details. */
function onlyOne(files: readonly FileOutcome[]): string {
  const [first] = files;
  if (first === undefined || files.length > 1) return "";
  const why = reasonOf(first);
  return why === undefined ? ` (${first.file})` : ` (${first.file}: ${why})`;
}
