// Who made pending changes.

import { agentTitle, type Owner, type Step } from "@snapd/client";
import type { FolderModel } from "./folder";
import { type Turn, turnOfStep } from "./turns";
import { stepInSentence, turnInSentence } from "./wording";

/** Characters of a prompt, in a hover. */
const MOST_TEXT = 1000;

/** A step that made part of a change, if the loaded history has it. */
export interface Maker {
  /** The agent, or what else its session is called. */
  readonly agent: string;
  readonly step: Step | undefined;
  readonly turn: Turn | undefined;
}

/** What is asked of a folder. */
export type Knowing = Pick<FolderModel, "session" | "step" | "turn">;

/** The makers of a change, in the order of its owners. */
export function makersOf(folder: Knowing, owners: readonly Owner[]): readonly Maker[] {
  return owners.map(({ sessionId, stepId }) => {
    const session = folder.session(sessionId);
    const step = folder.step(stepId);
    const id = step === undefined ? undefined : turnOfStep(step);
    return {
      agent:
        session === undefined ? "an agent" : session.agent === undefined ? session.name : agentTitle(session.agent),
      step,
      turn: id === undefined ? undefined : folder.turn(id),
    };
  });
}

/** The agents, each once: "claude, codex". */
export function agentsOf(makers: readonly Maker[]): string {
  return [...new Set(makers.map(({ agent }) => agent))].join(", ");
}

/** The prompts, each once, as much of them as a hover has room for. */
export function promptsOf(makers: readonly Maker[]): readonly string[] {
  const texts = makers.map(({ turn }) => turn?.text?.trim() ?? "").filter((text) => text !== "");
  return [...new Set(texts)].map((text) => text.slice(0, MOST_TEXT));
}

/** A maker in a line: "claude, step 3 “Edit”, for the turn “Fix the tests”". */
export function makerLine({ agent, step, turn }: Maker): string {
  const parts = [agent, step === undefined ? undefined : stepInSentence(step)];
  return [...parts, turn === undefined ? undefined : `for ${turnInSentence(turn)}`]
    .filter((part) => part !== undefined)
    .join(", ");
}
