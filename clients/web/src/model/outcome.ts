/** What an operation did with files, or would do, in words. */
import type { ChangedBy, Contested, Details, FileOutcome, OutcomeKind } from "@snapd/client";
import {
  ABSENT_REASONS,
  AUTHORS,
  OPERATIONS,
  OUTCOMES,
  reasonText as reasonInWords,
  WRITTEN_OUTCOMES,
} from "@snapd/client/words";
import { exactName, visible } from "./names";
import { agentName, counted } from "./wording";

/** What a plan is about to do with a file. */
export function plannedName(outcome: OutcomeKind): string {
  return OUTCOMES[outcome].planned;
}

/** Why a file does not have the requested state, in one sentence; empty if it has. */
export function reasonOf({ reason, branch, message }: FileOutcome): string {
  if (message !== undefined) return sentence(message);
  if (branch !== undefined) return sentence(reasonInWords(reason ?? "", branch));
  return reason === undefined ? "" : reasonText(reason);
}

/** Why a file does not have the requested state, in one sentence; an unknown reason is returned unchanged. */
export function reasonText(reason: string): string {
  const text = reasonInWords(reason);
  return text === reason ? visible(reason) : sentence(text);
}

function sentence(text: string): string {
  return visible(`${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`);
}

/** The files that are written or deleted. */
export function written(files: readonly FileOutcome[]): FileOutcome[] {
  return files.filter(({ outcome }) => WRITTEN_OUTCOMES.includes(outcome));
}

export function conflicts(files: readonly FileOutcome[]): FileOutcome[] {
  return files.filter(({ outcome }) => outcome === "conflict");
}

/** Whether the files have none of the changes to undo, or all of the changes to redo. */
export function isAbsent(files: readonly FileOutcome[]): boolean {
  return files.some(({ reason = "" }) => ABSENT_REASONS.includes(reason));
}

/** Whether no file would change, and none is left for a person to decide about. */
export function isSettled(files: readonly FileOutcome[]): boolean {
  return !isAbsent(files) && files.every(({ outcome }) => outcome === "unchanged");
}

/** What was done: "2 files restored, 1 merged, 1 in conflict". */
export function summary(files: readonly FileOutcome[]): string {
  return summed(files, "");
}

/** What will be done: "2 files will be restored, 1 merged, 1 in conflict". */
export function plannedSummary(files: readonly FileOutcome[]): string {
  return summed(files, "will be ");
}

function summed(files: readonly FileOutcome[], will: string): string {
  const parts = (Object.keys(OUTCOMES) as OutcomeKind[]).flatMap((kind) => {
    const count = files.filter(({ outcome }) => outcome === kind).length;
    return count === 0 || kind === "unchanged" ? [] : [{ count, word: OUTCOMES[kind].done }];
  });
  if (parts.length === 0) return "no file changes";
  return parts
    .map(({ count, word }, at) => `${at === 0 ? `${counted(count, "file")} ${will}` : `${count} `}${word}`)
    .join(", ");
}

/**
 * The places where files are in conflict, and those that a person decided about: a file to overwrite is
 * no longer in conflict, and the decision can still be another.
 *
 * @param known Those that were shown before.
 */
export function contestedIn(
  { files, details }: { readonly files: readonly FileOutcome[]; readonly details?: Pick<Details, "contested"> },
  known: readonly Contested[],
  decisions: Readonly<Record<string, unknown>>,
): Contested[] {
  const now = [...(details?.contested ?? [])];
  const names = new Set(now.map(exactName));
  for (const one of conflicts(files)) if (!names.has(exactName(one))) now.push({ ...one, name: "", by: [] });
  for (const one of now) names.add(exactName(one));
  const decided = known.filter((one) => Object.hasOwn(decisions, exactName(one)) && !names.has(exactName(one)));
  return [...decided, ...now].sort((one, other) => (one.file < other.file ? -1 : one.file > other.file ? 1 : 0));
}

/** Everybody whose changes of a file are in the way, each once, the last first. */
export function whoChangedAll(by: readonly ChangedBy[]): string {
  const names = [...new Set(by.filter(({ elsewhere }) => elsewhere !== true).map(whoChanged))];
  return names.length > 2 ? `${names.slice(0, 2).join(", ")} and others` : names.join(" and ");
}

/** Who changed a file since: "you", "claude, in another step", "an undo". */
export function whoChanged({ author, agent, kind }: ChangedBy): string {
  if (author === "user" || author === "unknown") return AUTHORS[author];
  if (author === "operation") return kind === undefined ? "an operation" : OPERATIONS[kind].noun;
  return `a step of ${agentName(agent)}`;
}
