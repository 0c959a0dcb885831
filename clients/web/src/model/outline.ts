/** The rows of the timeline: its entries, and above those of a turn the prompt. */
import type { Entry, Message } from "@snapd/client";
import { keyOf } from "./entries";

export type Row = TurnRow | EntryRow;

/** A prompt; what the agent did about it stands below. */
export interface TurnRow {
  readonly kind: "turn";
  readonly key: string;
  readonly sessionId: string;
  readonly messageId: string;
  readonly at: string;
  readonly text: string | undefined;
  readonly message: Message | undefined;
}

export interface EntryRow {
  readonly kind: "entry";
  readonly key: string;
  readonly entry: Entry;
  /** How deep it stands below the step that it is a part of. */
  readonly depth: number;
}

/**
 * The rows of one session, latest turn first.
 *
 * Its entries are latest first, so a prompt follows its steps; here it is above them.
 *
 * @param messages The loaded prompts, by id.
 */
export function rowsOfSession(
  sessionId: string,
  entries: readonly Entry[],
  messages: ReadonlyMap<string, Message>,
): Row[] {
  const prompts = new Map<string, Entry>();
  for (const entry of entries) {
    if (entry.kind === "message" && entry.messageId !== undefined) prompts.set(entry.messageId, entry);
  }
  const depths = depthsOf(entries);
  const rows: Row[] = [];
  const shown = new Set<string>();
  let turn: string | undefined;
  const begin = (messageId: string, at: string) => {
    turn = messageId;
    const message = messages.get(messageId);
    const prompt = prompts.get(messageId);
    const times = shown.has(messageId) ? ` ${rows.length}` : "";
    shown.add(messageId);
    rows.push({
      kind: "turn",
      key: `turn ${messageId}${times}`,
      sessionId,
      messageId,
      at: prompt?.at ?? message?.at ?? at,
      text: prompt?.text ?? message?.text,
      message,
    });
  };
  for (const entry of entries) {
    if (entry.kind === "message") {
      // below the steps of its turn, its prompt stands above them already
      if (entry.messageId !== undefined && !shown.has(entry.messageId)) begin(entry.messageId, entry.at);
      turn = undefined;
      continue;
    }
    const messageId = entry.step?.messageId;
    if (messageId !== undefined && messageId !== turn) begin(messageId, entry.at);
    rows.push({ kind: "entry", key: keyOf(entry), entry, depth: depths.get(entry.step?.stepId ?? "") ?? 0 });
  }
  return rows;
}

/** The rows of everything that happened, latest first: prompts stand where they were sent. */
export function rowsOfAll(entries: readonly Entry[]): Row[] {
  const depths = depthsOf(entries);
  return entries.map((entry) => {
    if (entry.kind === "message" && entry.messageId !== undefined && entry.sessionId !== undefined) {
      return {
        kind: "turn",
        key: keyOf(entry),
        sessionId: entry.sessionId,
        messageId: entry.messageId,
        at: entry.at,
        text: entry.text,
        message: undefined,
      };
    }
    return { kind: "entry", key: keyOf(entry), entry, depth: depths.get(entry.step?.stepId ?? "") ?? 0 };
  });
}

const DEEPEST = 3;

function depthsOf(entries: readonly Entry[]): Map<string, number> {
  const parents = new Map<string, string>();
  for (const { step } of entries) {
    if (step?.parentStepId !== undefined) parents.set(step.stepId, step.parentStepId);
  }
  const depths = new Map<string, number>();
  for (const stepId of parents.keys()) {
    let depth = 0;
    for (let at = parents.get(stepId); at !== undefined && depth < DEEPEST; at = parents.get(at)) depth += 1;
    depths.set(stepId, depth);
  }
  return depths;
}
