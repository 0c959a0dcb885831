// Undo and redo of whole steps.

import type { Step } from "@snapd/client";
import { stepInSentence } from "../model/wording";
import { type Acted, type Action, type ActingCall, always, snapshotGoal, withGit } from "./action";
import { takeBackSteps } from "./takingBack";

/** Takes a step back, with its parts and wherever it is in the history; with git if that was decided already. */
export function undoStep(folder: string, step: Step, git = false): Action {
  return {
    folder,
    aim: `undo ${stepInSentence(step)}`,
    done: (acted) => `Undid ${howMuch(acted, step, "applied")}${stepInSentence(step)}`,
    plan: always(git ? withGit(undoCall(step)) : undoCall(step)),
    goal: () => snapshotGoal(step.from, `before ${stepInSentence(step)}`),
    undoing: (acted) =>
      takeBackSteps(folder, `the undo of ${stepInSentence(step)}`, acted, redoCall(step.sessionId), (redone) =>
        redoStep(folder, step.sessionId).undoing(redone),
      ),
  };
}

/** Does the step again that was undone last in a session. */
export function redoStep(folder: string, sessionId: string): Action {
  return {
    folder,
    aim: "redo the step",
    done: (acted) => `Redid ${howMuch(acted, rootOf(acted), "undone")}${stepInSentence(rootOf(acted))}`,
    plan: always(redoCall(sessionId)),
    goal: (_, forecast) => {
      const root = rootOf(forecast);
      return snapshotGoal(root.to ?? root.from, `after ${stepInSentence(root)}`);
    },
    undoing: (acted) => {
      const root = rootOf(acted);
      return takeBackSteps(folder, `the redo of ${stepInSentence(root)}`, acted, undoCall(root), (undone) =>
        undoStep(folder, root).undoing(undone),
      );
    },
  };
}

/** The words before a step's name if nothing of it was undone or redone; otherwise, its files in conflict show that. */
function howMuch({ steps }: Acted, step: Step, asBefore: Step["state"]): string {
  return steps?.find((each) => each.stepId === step.stepId)?.state === asBefore ? "nothing of " : "";
}

function undoCall({ sessionId, stepId }: Step): ActingCall {
  return { method: "session/undo", params: { sessionId, stepId, onConflict: "merge" } };
}

function redoCall(sessionId: string): ActingCall {
  return { method: "session/redo", params: { sessionId, count: 1, onConflict: "merge" } };
}

/** Of the steps that were turned together, the one that the others are parts of. */
function rootOf(acted: Acted): Step {
  const steps = acted.steps ?? [];
  const names = new Set(steps.map((step) => step.stepId));
  const root = steps.find((step) => step.parentStepId === undefined || !names.has(step.parentStepId));
  if (root === undefined) throw new Error("the answer names no step");
  return root;
}
