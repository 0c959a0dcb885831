/** What happened, latest first: of one session, or of all. */
import type { Entry, Message, Session, Step } from "@snapd/client";
import { isEmpty } from "@snapd/client/words";
import { computed, signal } from "@preact/signals";
import { getHistory, getMessages } from "../api/routes";
import type { Problem } from "../api/problem";
import { withLatest, withOlder, withStep } from "../model/entries";
import { rowsOfAll, rowsOfSession } from "../model/outline";
import type { Scope } from "../model/route";
import { Latest } from "./latest";
import { noted } from "./troubles";

/** The first page is drawn at once; the others follow in larger pieces. */
const FIRST = 100;
const REST = 1000;

/** Of which session, or all. */
export const scope = signal<Scope>(undefined);
export const entries = signal<readonly Entry[]>([]);
export const messages = signal<ReadonlyMap<string, Message>>(new Map());
/** Whether the first page is here, and whether all pages are. */
export const progress = signal<"loading" | "first" | "complete">("loading");
export const problem = signal<Problem | undefined>(undefined);

export const rows = computed(() => {
  const listed = entries.value.filter(({ step }) => step === undefined || !isEmpty(step));
  return scope.value === undefined ? rowsOfAll(listed) : rowsOfSession(scope.value, listed, messages.value);
});

/** The entries of steps, by the ids of the steps. */
export const steps = computed(() => {
  const found = new Map<string, Entry>();
  for (const entry of entries.value) {
    if (entry.step !== undefined) found.set(entry.step.stepId, entry);
  }
  return found;
});

const loading = new Latest();
let isStarted = false;

/** Has something of the timeline where none was asked for: other pages name steps, too. */
export function showAnyScope(): void {
  if (!isStarted) showScope(undefined);
}

/** Shows a session, or everything. */
export function showScope(of: Scope): void {
  if (isStarted && of === scope.peek()) return;
  isStarted = true;
  scope.value = of;
  entries.value = [];
  messages.value = new Map();
  progress.value = "loading";
  void reloadTimeline();
}

/** Fetches everything again; a complete list stays until the new one is complete. */
export async function reloadTimeline(): Promise<void> {
  const isCurrent = loading.begin();
  const of = scope.peek();
  const stays = progress.peek() === "complete";
  let collected: readonly Entry[] = [];
  problem.value = undefined;
  void loadMessages(of, isCurrent);
  try {
    for (let cursor: string | undefined; ;) {
      const answer = await getHistory(of, { cursor, limit: cursor === undefined ? FIRST : REST });
      if (!isCurrent()) return;
      if (stays) collected = withOlder(collected, answer.entries);
      // newer entries are at the top already
      else entries.value = cursor === undefined ? answer.entries : withOlder(entries.value, answer.entries);
      cursor = answer.nextCursor;
      if (!stays) progress.value = cursor === undefined ? "complete" : "first";
      if (cursor === undefined) break;
    }
  } catch (error) {
    if (isCurrent()) problem.value = noted(error);
    return;
  }
  if (!stays) return;
  entries.value = collected;
  await refreshTop();
}

async function loadMessages(of: Scope, isCurrent: () => boolean): Promise<void> {
  if (of === undefined) return;
  const found = new Map<string, Message>();
  try {
    for (let cursor: string | undefined; ;) {
      const answer = await getMessages(of, { cursor, limit: REST });
      if (!isCurrent()) return;
      for (const message of answer.messages) found.set(message.messageId, message);
      cursor = answer.nextCursor;
      if (cursor !== undefined) continue;
      messages.value = found;
      return;
    }
  } catch (error) {
    noted(error);
  }
}

/** Fetches the new entries at the top. */
export async function refreshTop(): Promise<void> {
  if (progress.value === "loading") return;
  const of = scope.value;
  try {
    const answer = await getHistory(of, { limit: FIRST });
    if (of !== scope.value) return;
    const met = withLatest(entries.value, answer.entries, answer.nextCursor === undefined);
    if (met === undefined) {
      await reloadTimeline();
      return;
    }
    entries.value = met;
    // what became of a turn is another after each step
    await loadMessages(of, () => of === scope.value);
  } catch (error) {
    noted(error);
  }
}

/** Stores the current state of a step, or of a session without steps. */
export function setStep(session: Session, step: Step | undefined): void {
  const isHere = scope.value === undefined || scope.value === session.sessionId;
  if (isHere && step !== undefined && progress.value !== "loading") entries.value = withStep(entries.value, step);
}
