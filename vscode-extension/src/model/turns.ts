// Turns: each a message to an agent, and the steps that the agent took for it.

import type { Entry, FileChange, Step } from "@snapd/client";
import { requestName } from "./changes";

/** What has become of a turn: a step is open; as for one step; nothing was changed. */
export type TurnState = "open" | "applied" | "partly" | "undone" | "empty";

/** A message to an agent, and its steps. */
export interface Turn {
  readonly sessionId: string;
  readonly messageId: string;
  /** The prompt, if known. */
  readonly text?: string;
  /** When the message was sent; or when its first step began, if the message was not reported. */
  readonly at: string;
  /** Its steps of this session, parts among them, newest first. */
  readonly steps: readonly Step[];
  /** Whether steps of it may be older than the history that is known. */
  readonly isCut: boolean;
  readonly state: TurnState;
  /** What its steps changed, each step after the other: a file that two of them changed is there twice. */
  readonly changes: readonly FileChange[];
}

/** The key of a turn. */
export type TurnId = Pick<Turn, "sessionId" | "messageId">;

/** The name of a turn, its own among those of all sessions. */
export function turnKey({ sessionId, messageId }: TurnId): string {
  return JSON.stringify([sessionId, messageId]);
}

/** The turn of a step; none where its agent named no message. */
export function turnOfStep({ sessionId, messageId }: Step): TurnId | undefined {
  return messageId === undefined ? undefined : { sessionId, messageId };
}

/** The turn that an entry begins, or that its step belongs to. */
export function turnOfEntry({ kind, step, sessionId, messageId }: Entry): TurnId | undefined {
  if (step !== undefined) return turnOfStep(step);
  return kind !== "message" || sessionId === undefined || messageId === undefined
    ? undefined
    : { sessionId, messageId };
}

/**
 * The turns of a history, by `turnKey`; the one of the newest entry comes first.
 *
 * @param entries - newest first.
 */
export function turnsOf(entries: readonly Entry[]): ReadonlyMap<string, Turn> {
  const ownOf = new Map<string, { readonly id: TurnId; readonly own: Entry[] }>();
  const partsOf = new Map<string, Step[]>();
  const oldest = new Map<string, Step>();
  for (const entry of entries) {
    const id = turnOfEntry(entry);
    if (id !== undefined) madeIn(ownOf, turnKey(id), () => ({ id, own: [] })).own.push(entry);
    const { step } = entry;
    if (step === undefined) continue;
    // the last one that is seen here
    oldest.set(step.sessionId, step);
    if (step.parentStepId !== undefined) madeIn(partsOf, step.parentStepId, () => []).push(step);
  }
  const turns = new Map<string, Turn>();
  for (const [key, { id, own }] of ownOf) {
    const steps = own.flatMap(({ step }) => step ?? []);
    const sent = own.filter(({ kind }) => kind === "message");
    // of a message that was sent again, the text of the last time counts, and the time of the first
    const text = sent.find((entry) => entry.text !== undefined)?.text;
    const first = oldest.get(id.sessionId);
    turns.set(key, {
      ...id,
      ...(text !== undefined && { text }),
      at: (sent.at(-1) ?? own.at(-1))?.at ?? "",
      steps,
      isCut: sent.length === 0 && first?.messageId === id.messageId && first.index > 0,
      state: stateOf(steps, (step) => partsOf.get(step.stepId) ?? []),
      changes: changesOf(steps),
    });
  }
  return turns;
}

/** How many files a turn changed. */
export function filesChanged({ changes }: Turn): number {
  return new Set(changes.map(requestName)).size;
}

function stateOf(steps: readonly Step[], partsOf: (step: Step) => readonly Step[]): TurnState {
  if (steps.some(({ state }) => state === "open")) return "open";
  const states = new Set(steps.filter((step) => changedItself(step, partsOf(step))).map(({ state }) => state));
  if (states.size === 0) return "empty";
  if (!states.has("undone") && !states.has("partly")) return "applied";
  return states.size === 1 && states.has("undone") ? "undone" : "partly";
}

/** Whether a step changed anything besides what its parts did: only then an undo of the turn changes its state. */
function changedItself({ files }: Step, parts: readonly Step[]): boolean {
  const sums = new Map<string, { additions: number; deletions: number }>();
  for (const file of parts.flatMap((part) => part.files ?? [])) {
    const { additions, deletions } = sums.get(requestName(file)) ?? { additions: 0, deletions: 0 };
    sums.set(requestName(file), { additions: additions + file.additions, deletions: deletions + file.deletions });
  }
  return (files ?? []).some((file) => {
    const of = sums.get(requestName(file));
    return of?.additions !== file.additions || of.deletions !== file.deletions;
  });
}

/** What steps changed; a step tells what its parts changed as well, once it has ended. */
function changesOf(steps: readonly Step[]): readonly FileChange[] {
  const ended = new Set(steps.filter(({ state }) => state !== "open").map(({ stepId }) => stepId));
  const isPart = ({ parentStepId }: Step): boolean => parentStepId !== undefined && ended.has(parentStepId);
  return steps.filter((step) => !isPart(step)).flatMap(({ files }) => files ?? []);
}

function madeIn<T>(values: Map<string, T>, key: string, make: () => T): T {
  const known = values.get(key);
  if (known !== undefined) return known;
  const made = make();
  values.set(key, made);
  return made;
}
