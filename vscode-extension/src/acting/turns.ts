// Undo of a whole turn.

import type { FileOutcome, OnConflict, Step } from "@snapd/client";
import type { Turn, TurnId } from "../model/turns";
import { turnInSentence } from "../model/wording";
import { type Acted, type Action, type ActingCall, always, type Overwriting } from "./action";
import { exactName } from "./names";
import { conflicts } from "./outcomes";
import { overwrite, snapshotCall, takeBackSteps } from "./takingBack";

/** Takes all steps of a turn back, with their parts; what came later stays. */
export function undoTurn(folder: string, turn: Turn): Action {
  const name = turnInSentence(turn);
  return {
    folder,
    aim: `undo ${name}`,
    done: (acted) => `Undid ${isUntouched(acted) ? "nothing of " : ""}${name}`,
    plan: always(undoCall(turn, "merge")),
    overwriting: (acted) => overwriteTurnFiles(folder, turn, acted),
    undoing: (acted) => {
      // a step of which all files are in conflict was not undone, and is not to be done again
      const steps = (acted.steps ?? []).filter(({ state }) => state !== "applied");
      return takeBackSteps(folder, `the undo of ${name}`, { ...acted, steps }, redoCall(turn, steps), (redone) =>
        takeBackSteps(folder, `the redo of ${name}`, redone, undoCall(turn, "merge"), (again) =>
          undoTurn(folder, turn).undoing(again),
        ),
      );
    },
  };
}

/** Whether an undo took nothing back, because of conflicts. */
function isUntouched({ steps }: Acted): boolean {
  return steps !== undefined && steps.length > 0 && steps.every(({ state }) => state === "applied");
}

function undoCall({ sessionId, messageId }: TurnId, onConflict: OnConflict): ActingCall {
  return { method: "session/undo", params: { sessionId, messageId, onConflict } };
}

function redoCall({ sessionId }: TurnId, steps: readonly Step[]): ActingCall {
  const params = { count: Math.max(steps.length, 1), onConflict: "merge" as const };
  // the parts of a step may be other sessions': then what was undone last in the workspace is meant
  const isAlone = steps.every((step) => step.sessionId === sessionId);
  return { method: "session/redo", params: isAlone ? { ...params, sessionId } : params };
}

/** Files become what they were before the first step of a turn that changed them. */
function overwriteTurnFiles(folder: string, turn: Turn, acted: Acted): Overwriting {
  const place = `before ${turnInSentence(turn)}`;
  // the daemon knows all of them, also those that are older than the history that is shown
  const steps = [...(acted.steps ?? turn.steps)].sort((one, other) => one.startedAt.localeCompare(other.startedAt));
  const firstOf = (file: FileOutcome): Step | undefined =>
    steps.find(({ files }) => (files ?? []).some((each) => exactName(each) === exactName(file)));
  const before = (file: FileOutcome): string => (firstOf(file) ?? steps[0])?.from ?? acted.before;
  const overwriting: Overwriting = {
    becomes: `what it was ${place}`,
    compared: (file) => ({ hash: before(file), name: place }),
    // one that others moved since goes by a name that no step knows
    allows: (file) => firstOf(file) !== undefined,
    with: (files) => {
      // an undo that overwrites takes back all that is left of the turn: no file that is to be kept may be among that
      const all = files.length === conflicts(acted.files).length;
      const call = all ? undoCall(turn, "overwrite") : snapshotCall(files, before);
      return overwrite(folder, files, place, () => overwriting, call);
    },
  };
  return overwriting;
}
