// Makes what the daemon would tell.

import type { Entry, FileChange, Session, Step } from "@snapd/client";

export function hash(seed: number): string {
  return seed.toString(16).padStart(40, "0");
}

export function time(seconds: number): string {
  return new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString();
}

export function session(sessionId: string, more: Partial<Session> = {}): Session {
  return {
    sessionId,
    name: more.title ?? `Session ${sessionId}`,
    startedAt: time(0),
    stepCount: 1,
    undoable: 1,
    redoable: 0,
    ...more,
  };
}

export function change(file: string, more: Partial<FileChange> = {}): FileChange {
  return { file, status: "modified", additions: 1, deletions: 0, binary: false, ...more };
}

export function step(stepId: string, at: number, more: Partial<Step> = {}): Step {
  return {
    stepId,
    sessionId: "s",
    index: at,
    startedAt: time(at),
    endedAt: time(at + 1),
    from: hash(at),
    to: hash(at + 1),
    state: "applied",
    files: [change("a.txt")],
    ...more,
  };
}

export function stepEntry(made: Step): Entry {
  const entry: Entry = { kind: "step", at: made.startedAt, step: made, before: made.from, files: made.files ?? [] };
  return made.to === undefined ? entry : { ...entry, after: made.to };
}

/** A step that is running. */
export function openStep(stepId: string, at: number, more: Partial<Step> = {}): Step {
  const { sessionId, index, startedAt, from } = step(stepId, at);
  return { stepId, sessionId, index, startedAt, from, state: "open", ...more };
}

export function userEntry(at: number, files: FileChange[] = [change("u.txt")]): Entry {
  return { kind: "user", at: time(at), before: hash(at), after: hash(at + 1), files };
}

export function operation(kind: Entry["kind"], at: number, more: Partial<Entry> = {}): Entry {
  return { kind, at: time(at), before: hash(at), after: hash(at + 1), files: [change("a.txt")], ...more };
}

/** A message to the agent of a session. */
export function message(messageId: string, at: number, text?: string, sessionId = "s"): Entry {
  const tree = { before: hash(at), after: hash(at), files: [] };
  return { kind: "message", at: time(at), sessionId, messageId, ...(text !== undefined && { text }), ...tree };
}

/** Numbers from 0 up to 1 that a seed decides. */
export function randomness(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A whole number below a bound. */
export function below(random: () => number, bound: number): number {
  return Math.floor(random() * bound);
}
