/** The entries of a timeline, latest first, and how news get into them. */
import type { Entry, Step } from "@snapd/client";

/** The key of an entry, stable while the entry is in the timeline. */
export function keyOf(entry: Entry): string {
  if (entry.step !== undefined) return `step ${entry.step.stepId}`;
  if (entry.kind === "message") return `message ${entry.sessionId ?? ""} ${entry.messageId ?? ""}`;
  return `${entry.kind} ${entry.at} ${entry.before} ${entry.after ?? ""}`;
}

/**
 * Puts the latest entries, which were just fetched, in front of the loaded ones.
 *
 * @param known The loaded entries, latest first.
 * @param latest The first page of now, latest first.
 * @param isWhole Whether that page is all there is.
 * @returns The entries together, or undefined where the two do not meet: then there is more between them.
 */
export function withLatest(known: readonly Entry[], latest: readonly Entry[], isWhole: boolean): Entry[] | undefined {
  if (isWhole) return [...latest];
  const last = latest.at(-1);
  if (last === undefined) return [...known];
  const lastKey = keyOf(last);
  const at = known.findIndex((entry) => keyOf(entry) === lastKey);
  return at < 0 ? undefined : [...latest, ...known.slice(at + 1)];
}

/**
 * Adds an older page. If the timeline grew in between, the page may begin with loaded entries.
 *
 * @param known Latest first.
 * @param older The next page, latest first.
 */
export function withOlder(known: readonly Entry[], older: readonly Entry[]): Entry[] {
  const keys = new Set(known.slice(-older.length).map(keyOf));
  return [...known, ...older.filter((entry) => !keys.has(keyOf(entry)))];
}

/**
 * Puts the current state of a step into the entries: in its place, or where its time belongs.
 *
 * @param entries Latest first.
 */
export function withStep(entries: readonly Entry[], step: Step): Entry[] {
  const at = entries.findIndex((entry) => entry.step?.stepId === step.stepId);
  const found = entries[at];
  if (found !== undefined) return entries.with(at, entryOf(step, found));
  const place = entries.findIndex((entry) => Date.parse(entry.at) <= Date.parse(step.startedAt));
  return entries.toSpliced(place < 0 ? entries.length : place, 0, entryOf(step, undefined));
}

/** Keeps the moved files of a loaded step: notifications list the two ends of a move separately. */
function entryOf(step: Step, known: Entry | undefined): Entry {
  const wasEnded = known?.step?.endedAt !== undefined;
  const files = wasEnded ? known.files : (step.files ?? []);
  const whole: Step = wasEnded ? { ...step, files } : step;
  const after = step.to === undefined ? {} : { after: step.to };
  return { kind: "step", at: step.startedAt, before: step.from, files, step: whole, ...after };
}
