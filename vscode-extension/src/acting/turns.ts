// Undo of a whole turn.

import type { FileOutcome, Step } from "@snapd/client";
import type { Turn, TurnId } from "../model/turns";
import { turnInSentence } from "../model/wording";
import { type Acted, type Action, type ActingCall, always, type Goal, snapshotGoal } from "./action";
import { exactName } from "./names";
import { takeBack, takeBackSteps } from "./takingBack";

/** Takes all steps of a turn back, with their parts; what came later stays. */
export function undoTurn(folder: string, turn: Turn): Action {
  const name = turnInSentence(turn);
  return {
    folder,
    aim: `undo ${name}`,
    done: (acted) => `Undid ${isUntouched(acted) ? "nothing of " : ""}${name}`,
    plan: always(undoCall(turn)),
    goal: (file, forecast) => goalOf(turn, file, forecast),
    undoing: (acted) => {
      // a step of which all files are in conflict was not undone, and is not to be done again
      const steps = (acted.steps ?? []).filter(({ state }) => state !== "applied");
      return takeBackSteps(folder, `the undo of ${name}`, { ...acted, steps }, redoCall(turn, steps), (redone) =>
        takeBackSteps(folder, `the redo of ${name}`, redone, undoCall(turn), (again) =>
          undoTurn(folder, turn).undoing(again),
        ),
      );
    },
  };
}

/** Takes all steps of a turn and of later ones of the session back. */
export function goBackToBefore(folder: string, turn: Turn): Action {
  const name = turnInSentence(turn);
  const { sessionId, messageId } = turn;
  return {
    folder,
    aim: `go back to before ${name}`,
    done: () => `Went back to before ${name}`,
    plan: always({ method: "session/revert", params: { sessionId, messageId, onConflict: "merge" } }),
    goal: (file, forecast) => goalOf(turn, file, forecast),
    undoing: (acted) => takeBack(folder, `the way back to before ${name}`, acted),
  };
}

/** Whether an undo took nothing back, because of conflicts. */
function isUntouched({ steps }: Acted): boolean {
  return steps !== undefined && steps.length > 0 && steps.every(({ state }) => state === "applied");
}

function undoCall({ sessionId, messageId }: TurnId): ActingCall {
  return { method: "session/undo", params: { sessionId, messageId, onConflict: "merge" } };
}

function redoCall({ sessionId }: TurnId, steps: readonly Step[]): ActingCall {
  const params = { whole: true, onConflict: "merge" as const };
  // the parts of a step may be other sessions': then redo what was undone last in the workspace
  const isAlone = steps.every((step) => step.sessionId === sessionId);
  return { method: "session/redo", params: isAlone ? { ...params, sessionId } : params };
}

/** What a file was before the first step of a turn that changed it. */
function goalOf(turn: Turn, file: FileOutcome, forecast: Acted): Goal {
  // the daemon knows all of them, also those that are older than the history that is shown
  const steps = [...(forecast.steps ?? turn.steps)].sort((one, other) => one.startedAt.localeCompare(other.startedAt));
  const first = steps.find(({ files }) => (files ?? []).some((each) => exactName(each) === exactName(file)));
  return snapshotGoal((first ?? steps[0])?.from ?? forecast.before, `before ${turnInSentence(turn)}`);
}
