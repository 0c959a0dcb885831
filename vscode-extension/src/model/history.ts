// Keeps a history read page by page up to date, and reads no more of it anew than may look different.

import { isDeepStrictEqual } from "node:util";
import type { Entry, FileChange, HistoryResult, Session, Step } from "@snapd/client";

/** Entries that are kept, at most. */
export const KEPT = 500;

/** The key of an entry, the same for as long as the entry is listed. */
export function entryKey(entry: Entry): string {
  if (entry.step !== undefined) return `step:${entry.step.stepId}`;
  // several agents may get their messages at one moment
  const message = entry.kind === "message" ? [JSON.stringify([entry.sessionId, entry.messageId])] : [];
  return [entry.kind, entry.at, entry.before, entry.after ?? "", ...message].join(":");
}

/**
 * How many of the entries have to be read again: all down to the oldest that may look different.
 *
 * These are the changed steps, the open ones, and those that one of them is a part of, because they show
 * what their parts changed.
 *
 * @param entries - newest first.
 * @param news - ids of the changed steps.
 */
export function unsettled(entries: readonly Entry[], news: ReadonlySet<string>): number {
  const places = new Map<string, number>();
  for (const [place, { step }] of entries.entries()) if (step !== undefined) places.set(step.stepId, place);
  let count = 0;
  for (const { step } of entries) {
    if (step === undefined || (step.state !== "open" && !news.has(step.stepId))) continue;
    for (const each of ancestry(step, (id) => entries[places.get(id) ?? -1]?.step)) {
      count = Math.max(count, (places.get(each.stepId) ?? -1) + 1);
    }
  }
  return count;
}

/** Whether files and a step, or a turn, are about a directory: one is there, or it is not known yet what it changes. */
export function concerns(files: readonly FileChange[], state: string | undefined, directory: string): boolean {
  return state === "open" || files.some(({ file }) => file.startsWith(`${directory}/`));
}

/** The steps whose rows change with one step: itself, and the one that it is a part of, loaded or not. */
export function affectedSteps({ stepId, parentStepId }: Step): readonly string[] {
  return parentStepId === undefined ? [stepId] : [stepId, parentStepId];
}

/** A step, the step that it is a part of, and so on. */
export function* ancestry(step: Step, find: (stepId: string) => Step | undefined): Generator<Step> {
  for (let each: Step | undefined = step; each !== undefined;) {
    yield each;
    each = each.parentStepId === undefined ? undefined : find(each.parentStepId);
  }
}

/**
 * Reads the history as far as it may look different, and the rest from what is known.
 *
 * @param known - newest first.
 * @param stale - how many of these have to be read again.
 * @param page - asks for a page.
 * @returns newest first, at most `KEPT`.
 */
export async function readHistory(
  known: readonly Entry[],
  stale: number,
  page: (cursor: string | undefined) => Promise<HistoryResult>,
): Promise<readonly Entry[]> {
  const places = new Map(known.map((entry, place) => [entryKey(entry), place]));
  const fresh: Entry[] = [];
  let cursor: string | undefined;
  do {
    const { entries, nextCursor } = await page(cursor);
    fresh.push(...entries);
    cursor = nextCursor;
    const last = fresh.at(-1);
    const place = last === undefined ? undefined : places.get(entryKey(last));
    if (place !== undefined && place + 1 >= stale) {
      fresh.push(...known.slice(place + 1));
      break;
    }
  } while (cursor !== undefined && fresh.length < KEPT);
  return fresh.slice(0, KEPT);
}

/** The same entries, where they look as before as the very objects that are known. */
export function withKnown(entries: readonly Entry[], known: readonly Entry[]): readonly Entry[] {
  const byKey = new Map(known.map((entry) => [entryKey(entry), entry]));
  return entries.map((entry) => {
    const before = byKey.get(entryKey(entry));
    return before !== undefined && isDeepStrictEqual(before, entry) ? before : entry;
  });
}

/** When something was last done in a session: it or one of its steps began or ended, or its agent got a message. */
export function lastActivity(session: Session, entries: readonly Entry[]): string {
  let last = session.endedAt ?? session.startedAt;
  for (const { kind, step, sessionId, at: began } of entries) {
    if ((step?.sessionId ?? (kind === "message" ? sessionId : undefined)) !== session.sessionId) continue;
    const at = step?.endedAt ?? began;
    if (at > last) last = at;
  }
  return last;
}

/** The sessions, that of the newest activity first. */
export function byActivity(sessions: readonly Session[], entries: readonly Entry[]): readonly Session[] {
  // times of one format compare as text; of two at the same time, the later started one comes first
  return sessions
    .map((session, place) => ({ session, place, last: lastActivity(session, entries) }))
    .sort((one, two) => (one.last === two.last ? two.place - one.place : one.last < two.last ? 1 : -1))
    .map(({ session }) => session);
}
