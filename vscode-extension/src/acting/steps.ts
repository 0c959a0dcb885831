// Undo and redo of whole steps.

import type { Step } from "@snapd/client";
import { counted, stepInSentence } from "../model/wording";
import { type Acted, type Action, type ActingCall, always, snapshotGoal, withGit } from "./action";
import { exactName } from "./names";
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
        redoLast(folder, step.sessionId).undoing(redone),
      ),
  };
}

/** Does again what was undone last in a session, as a whole. */
export function redoLast(folder: string, sessionId: string): Action {
  return {
    folder,
    aim: "redo what was undone last",
    done: (acted) => {
      const [root, ...others] = rootsOf(acted);
      return `Redid ${others.length === 0 ? howMuch(acted, root, "undone") : ""}${named([root, ...others])}`;
    },
    plan: always(redoCall(sessionId)),
    goal: (file, forecast) => {
      const roots = rootsOf(forecast);
      const changed = ({ files }: Step): boolean => (files ?? []).some((each) => exactName(each) === exactName(file));
      const root = roots.findLast(changed) ?? roots[0];
      return snapshotGoal(root.to ?? root.from, `after ${stepInSentence(root)}`);
    },
    undoing: (acted) => {
      const roots = rootsOf(acted);
      return takeBackSteps(folder, `the redo of ${named(roots)}`, acted, undoCallOf(roots), (undone) =>
        takeBackSteps(folder, `the undo of ${named(roots)}`, undone, redoCall(sessionId), (redone) =>
          redoLast(folder, sessionId).undoing(redone),
        ),
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

function undoCallOf(roots: Roots): ActingCall {
  const [{ sessionId, messageId }, ...others] = roots;
  if (others.length === 0) return undoCall(roots[0]);
  const isTurn = messageId !== undefined && others.every((step) => step.messageId === messageId);
  const which = isTurn ? { messageId } : { count: roots.length };
  return { method: "session/undo", params: { sessionId, ...which, onConflict: "merge" } };
}

function redoCall(sessionId: string): ActingCall {
  return { method: "session/redo", params: { sessionId, whole: true, onConflict: "merge" } };
}

function named(roots: Roots): string {
  return roots.length === 1 ? stepInSentence(roots[0]) : counted(roots.length, "step");
}

type Roots = readonly [Step, ...Step[]];

/** The steps that were turned together, without those that are parts of others. */
function rootsOf(acted: Acted): Roots {
  const steps = acted.steps ?? [];
  const names = new Set(steps.map((step) => step.stepId));
  const [root, ...others] = steps.filter(({ parentStepId }) => parentStepId === undefined || !names.has(parentStepId));
  if (root === undefined) throw new Error("the answer names no step");
  return [root, ...others];
}
