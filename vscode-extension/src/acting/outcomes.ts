// What became of files, in sentences.

import {
  ABSENT_REASONS,
  AUTHORS,
  type ChangedBy,
  type Contested,
  type FileOutcome,
  type GitOutcome,
  OPERATIONS,
  OUTCOMES,
  type OutcomeKind,
  WRITTEN_OUTCOMES,
  agentTitle,
  gitReasons,
  gitWords,
  reasonText,
} from "@snapd/client";
import { counted } from "../model/wording";
import { listed } from "./names";

/** The severity: everything worked; something needs a look; something failed. */
export type Severity = "info" | "warning" | "error";

/** Characters of a line that are shown in a row. */
const LONGEST_LINE = 60;

/** The files that were written or deleted, or under a dry run would be. */
export function written(files: readonly FileOutcome[]): FileOutcome[] {
  return files.filter((file) => WRITTEN_OUTCOMES.includes(file.outcome));
}

/** The files that could not be undone, about which the user can decide. */
export function conflicts(files: readonly FileOutcome[]): FileOutcome[] {
  return files.filter((file) => file.outcome === "conflict");
}

/** How much a user has to know of what became of these files, and of git. */
export function severity(files: readonly FileOutcome[], git?: GitOutcome): Severity {
  const kinds = new Set(files.map((file) => file.outcome));
  if (kinds.has("failed") || kinds.has("skipped")) return "error";
  return kinds.has("conflict") || git?.reasons !== undefined ? "warning" : "info";
}

/** What became of a file, for a list: "merged", "in conflict: changed since". */
export function outcomeText(file: FileOutcome): string {
  return because(OUTCOMES[file.outcome].done, file);
}

/** Why a file does not have the requested state. */
export function reasonOf({ reason, branch, message }: FileOutcome): string | undefined {
  return message ?? (reason === undefined ? undefined : reasonText(reason, branch));
}

/**
 * Why a file conflicts, with whom and in which lines:
 * "changed since by you and Codex, line 12: “now” would become “before”".
 */
export function conflictText(file: FileOutcome, contested: Contested | undefined): string {
  const names = [...new Set((contested?.by ?? []).filter(({ elsewhere }) => elsewhere !== true).map(authorName))];
  const who = names.length === 0 ? "" : `${file.reason === "shared" ? " with " : " by "}${listed(names)}`;
  return `${reasonOf(file) ?? "in conflict"}${who}${disputeText(contested?.dispute)}`;
}

function authorName({ author, agent, kind }: ChangedBy): string {
  if (author === "user" || author === "unknown") return AUTHORS[author];
  if (author === "operation") return kind === undefined ? "an operation" : OPERATIONS[kind].noun;
  return agent === undefined ? "an agent" : agentTitle(agent);
}

function disputeText(dispute: Contested["dispute"]): string {
  if (dispute === undefined) return "";
  const { line, now, wanted } = dispute;
  const where = now.length > 1 ? `, lines ${line} to ${line + now.length - 1}` : `, line ${line}`;
  const first = ([text]: readonly string[]): string => {
    const shown = (text ?? "").trim();
    return shown.length > LONGEST_LINE ? `“${shown.slice(0, LONGEST_LINE - 1)}…”` : `“${shown}”`;
  };
  if (now.length === 0) return `${where}: ${first(wanted)} would come back`;
  if (wanted.length === 0) return `${where}: ${first(now)} would go`;
  return `${where}: ${first(now)} would become ${first(wanted)}`;
}

/**
 * One sentence about what was done, and one for each kind of leftover.
 *
 * @param done - the request in the past tense: "Undid step 3".
 */
export function report(done: string, files: readonly FileOutcome[]): string {
  return [`${done}: ${changesText(files)}.`, ...leftovers(files)].join(" ");
}

/** What became of git, in sentences; empty for nothing. */
export function gitReport(git: GitOutcome | undefined, isRedo = false): string {
  if (git === undefined) return "";
  const words = gitWords(git.changes);
  if (git.left === true) return `Git stays ${isRedo ? "undone" : "as it is"}: ${words}.`;
  return [...(words === "" ? [] : [`Git: ${words}.`]), ...gitReasons(git).map((why) => `Left in git: ${why}.`)].join(
    " ",
  );
}

/** What was written: "2 files restored, 1 merged". */
export function changesText(files: readonly FileOutcome[]): string {
  const none = conflicts(files).length > 0 ? "no file was changed" : "no file had to be changed";
  return summed(files, (kind) => OUTCOMES[kind].done) ?? none;
}

/** What would be written, by a dry run: "2 files to restore, 1 to merge". */
export function plannedChangesText(files: readonly FileOutcome[]): string {
  return summed(files, (kind) => `to ${OUTCOMES[kind].planned}`) ?? "no file to change";
}

/** The planned outcome of a file, for a list: "merge", "conflict: changed since". */
export function plannedText(file: FileOutcome): string {
  return because(OUTCOMES[file.outcome].planned, file);
}

function summed(files: readonly FileOutcome[], text: (kind: OutcomeKind) => string): string | undefined {
  const parts = WRITTEN_OUTCOMES.flatMap((kind) => {
    const count = files.filter((file) => file.outcome === kind).length;
    return count === 0 ? [] : [{ kind, count }];
  });
  if (parts.length === 0) return undefined;
  return parts.map(({ kind, count }, at) => `${at === 0 ? counted(count, "file") : count} ${text(kind)}`).join(", ");
}

function because(text: string, file: FileOutcome): string {
  const why = reasonOf(file);
  return why === undefined ? text : `${text}: ${why}`;
}

function leftovers(files: readonly FileOutcome[]): string[] {
  const of = (kind: OutcomeKind): FileOutcome[] => files.filter((file) => file.outcome === kind);
  const sentences: string[] = [];
  const absent = files.filter(({ reason = "" }) => [...ABSENT_REASONS, "byGit"].includes(reason));
  if (absent.length > 0) {
    sentences.push(`${counted(absent.length, "file was", "files were")} unchanged${onlyOne(absent)}.`);
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
