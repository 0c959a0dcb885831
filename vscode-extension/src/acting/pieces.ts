// Taking back pieces of a step, and going back to before it.

import type { OnConflict, Step } from "@snapd/client";
import { counted, stepInSentence } from "../model/wording";
import { type Action, type Agreed, always, snapshotGoal } from "./action";
import { exactName, listed, type NamedFile } from "./names";
import { takeBack } from "./takingBack";

/** Undoes a step's changes to some files. */
export function revertFiles(folder: string, step: Step, files: readonly NamedFile[]): Action {
  const names = listed(files.map(({ file }) => file));
  return {
    folder,
    aim: `revert ${names} (${stepInSentence(step)})`,
    done: () => `Undid what ${stepInSentence(step)} did to ${names}`,
    plan: always({
      method: "step/revertFiles",
      params: { stepId: step.stepId, files: files.map(exactName), onConflict: "merge" },
    }),
    goal: () => snapshotGoal(step.from, `before ${stepInSentence(step)}`),
    undoing: (acted) => takeBack(folder, `the revert of ${names}`, acted),
  };
}

/** Undoes some hunks of a step's change to a file. */
export function revertHunks(folder: string, step: Step, file: NamedFile, hunks: readonly number[]): Action {
  const what = `${counted(hunks.length, "hunk")} of ${file.file}`;
  const params = { stepId: step.stepId, file: exactName(file), hunks: [...hunks] };
  return {
    folder,
    aim: `revert ${what} (${stepInSentence(step)})`,
    done: () => `Reverted ${what} (${stepInSentence(step)})`,
    plan: always({ method: "step/revertHunks", params: { ...params, onConflict: "merge" } }),
    goal: () => ({
      text: `what ${stepInSentence(step)} left, without ${hunks.length === 1 ? "this hunk" : "these hunks"}`,
      compared: { hash: step.to ?? step.from, name: `after ${stepInSentence(step)}` },
    }),
    undoing: (acted) => takeBack(folder, `the revert of ${what}`, acted),
  };
}

/**
 * Makes the work tree what it was before a step.
 *
 * @param onConflict - what happens to files that were changed since the last snapshot; they are restored too where it
 *   is absent, but for those with unsaved text.
 * @param agreed - what the user agreed to.
 */
export function restoreBefore(folder: string, step: Step, onConflict: OnConflict | undefined, agreed: Agreed): Action {
  const place = `before ${stepInSentence(step)}`;
  return {
    folder,
    aim: `restore the workspace to ${place}`,
    done: () => `Restored the workspace to ${place}`,
    agreed,
    plan: always({
      method: "snapshot/restore",
      params: onConflict === undefined ? { hash: step.from } : { hash: step.from, onConflict },
    }),
    goal: () => snapshotGoal(step.from, place),
    undoing: (acted) => takeBack(folder, `the restore to ${place}`, acted),
  };
}
