/** What an operation did with files, or would do, in words. */
import type { ChangedBy, FileOutcome, OutcomeKind } from "@snapd/client";
import { visible } from "./names";
import { counted } from "./wording";

const WRITTEN: readonly OutcomeKind[] = ["restored", "merged", "deleted"];

const WORDS: Readonly<Record<OutcomeKind, string>> = {
  restored: "restored",
  deleted: "deleted",
  merged: "merged",
  unchanged: "unchanged",
  conflict: "conflict",
  kept: "kept",
  skipped: "skipped",
  failed: "failed",
};

const PLANNED: Readonly<Record<OutcomeKind, string>> = {
  restored: "restore",
  deleted: "delete",
  merged: "merge",
  unchanged: "unchanged",
  conflict: "conflict",
  kept: "keep",
  skipped: "skip",
  failed: "fails",
};

const REASONS: Readonly<Record<string, string>> = {
  already: "It is so already.",
  onBranch: "The change is on another branch.",
  stashed: "The change is in a stash.",
  changedSince: "It has changed in the same place since.",
  deletedSince: "It was deleted since.",
  renamedSince: "It was moved since.",
  occupied: "Something else is in its place.",
  shared: "Steps of several sessions may have made the change.",
  unsavedInEditor: "An editor has unsaved text of it.",
  changedMeanwhile: "It was changed at the same moment.",
  conflictsElsewhere: "Other files are in conflict.",
  ignored: "It is ignored.",
  tooLarge: "It is over the size limit.",
  unreadable: "It cannot be read.",
  special: "It is no regular file.",
  unstable: "It changes all the time.",
  unsupportedName: "Its name is not supported.",
  purged: "Its contents were purged.",
  inTheWay: "Something that is in no snapshot is in its place.",
  directoryNotEmpty: "A folder with other files is in its place.",
  onlyCopy: "It is the only copy of a file that was not captured before.",
  clash: "Another file of the same request is in its place.",
  storeCorrupt: "Its snapshot is damaged.",
};

/** What a plan is about to do with a file. */
export function plannedName(outcome: OutcomeKind): string {
  return PLANNED[outcome];
}

/** Why a file is not what was asked for, in one sentence; nothing where it is. */
export function reasonOf({ reason, branch, message }: FileOutcome): string {
  if (branch !== undefined) return `The change is on branch ${visible(branch)}.`;
  if (message !== undefined) return `It could not be done: ${visible(message)}.`;
  return reason === undefined ? "" : reasonText(reason);
}

/** Why something is not what was asked for, in one sentence. */
export function reasonText(reason: string): string {
  return REASONS[reason] ?? visible(reason);
}

/** The files that are written or deleted. */
export function written(files: readonly FileOutcome[]): FileOutcome[] {
  return files.filter(({ outcome }) => WRITTEN.includes(outcome));
}

export function conflicts(files: readonly FileOutcome[]): FileOutcome[] {
  return files.filter(({ outcome }) => outcome === "conflict");
}

/** Whether the files have nothing of what was to be taken back, or have all of what was to be done again. */
export function isAbsent(files: readonly FileOutcome[]): boolean {
  return files.some(({ reason = "" }) => ["already", "onBranch", "stashed"].includes(reason));
}

/** What was done: "2 files restored, 1 merged, 1 in conflict". */
export function summary(files: readonly FileOutcome[]): string {
  return summed(files, "");
}

/** What is going to be done: "2 files will be restored, 1 merged, 1 in conflict". */
export function plannedSummary(files: readonly FileOutcome[]): string {
  return summed(files, "will be ");
}

function summed(files: readonly FileOutcome[], will: string): string {
  const parts = (Object.keys(WORDS) as OutcomeKind[]).flatMap((kind) => {
    const count = files.filter(({ outcome }) => outcome === kind).length;
    return count === 0 || kind === "unchanged"
      ? []
      : [{ count, word: kind === "conflict" ? "in conflict" : WORDS[kind] }];
  });
  if (parts.length === 0) return "no file changes";
  return parts
    .map(({ count, word }, at) => `${at === 0 ? `${counted(count, "file")} ${will}` : `${count} `}${word}`)
    .join(", ");
}

/** Everybody whose changes of a file are in the way, each once, the last first. */
export function whoChangedAll(by: readonly ChangedBy[]): string {
  const names = [...new Set(by.filter(({ elsewhere }) => elsewhere !== true).map(whoChanged))];
  return names.length > 2 ? `${names.slice(0, 2).join(", ")} and others` : names.join(" and ");
}

/** Who changed a file since: "you", "claude, in another step", "an undo". */
export function whoChanged({ author, agent, kind }: ChangedBy): string {
  if (author === "user") return "you";
  if (author === "unknown") return "somebody";
  if (author === "operation") return kind === undefined ? "an operation" : `the operation “${kind}”`;
  return `a step of ${agent === undefined ? "an agent" : visible(agent)}`;
}
