// Reverses an action.

import { type FileOutcome, movesGit, SnapdError } from "@snapd/client";
import {
  type Acted,
  type ActingCall,
  type ActingFolder,
  type Action,
  foretell,
  type Plan,
  snapshotGoal,
  withGit,
} from "./action";
import type { Decisions } from "./deciding";
import { differences } from "./differences";
import { Refused } from "./errors";
import { exactName } from "./names";
import { written } from "./outcomes";

/**
 * Brings back the files that an action wrote.
 *
 * @param what - the action, as a noun: "the revert of app.py".
 * @param acted - what it did.
 */
export function takeBack(folder: string, what: string, acted: Acted): Action {
  return {
    folder,
    aim: `reverse ${what}`,
    done: () => `Reversed ${what}`,
    shown: new Set(written(acted.files).map(exactName)),
    plan: (model, decisions) => planFiles(model, acted, decisions),
    goal: () => snapshotGoal(acted.before, `before ${what}`),
    undoing: (again) => takeBack(folder, `the undo of ${what}`, again),
  };
}

/**
 * Reverses an undo or a redo of steps: by the opposite request while that affects only these steps; otherwise by their
 * files, if the session has continued.
 *
 * @param opposite - the request; git goes along as it did in the action.
 * @param undoing - the action that reverses the request.
 */
export function takeBackSteps(
  folder: string,
  what: string,
  acted: Acted,
  opposite: ActingCall,
  undoing: Action["undoing"],
): Action {
  const call = movesGit(acted.git) ? withGit(opposite) : opposite;
  const byFiles = takeBack(folder, what, acted);
  return {
    folder,
    aim: byFiles.aim,
    done: byFiles.done,
    besides: (again) =>
      again.steps === undefined ? "The session has continued, so its steps are listed as before." : "",
    plan: async (model, decisions) => {
      if (await turnsJust(model, call, acted)) return { call, leftOut: [] };
      return planFiles(model, acted, decisions);
    },
    goal: byFiles.goal,
    undoing: (again) => (again.steps === undefined ? byFiles.undoing(again) : undoing(again)),
  };
}

/**
 * Reverses a revert of pending changes, so that they are pending again: by the request that undoes the operation, as
 * long as that undoes only this one; otherwise by its files.
 *
 * @param what - the revert, as a noun.
 * @param operation - the revert.
 * @param acted - the last action: the revert itself, or its redo.
 * @param method - the request that reverses it.
 */
export function takeBackOperation(
  folder: string,
  what: string,
  operation: Pick<Acted, "before" | "after">,
  acted: Acted,
  method: "session/undo" | "session/redo",
): Action {
  const call: ActingCall = { method, params: { onConflict: "merge" } };
  const byFiles = takeBack(folder, what, acted);
  const [again, other] = [`the undo of ${what}`, method === "session/undo" ? "session/redo" : "session/undo"] as const;
  return {
    folder,
    aim: byFiles.aim,
    done: byFiles.done,
    besides: ({ operations }) =>
      operations === undefined ? "Other operations followed, so the restored changes count as yours." : "",
    plan: async (model, decisions) => {
      if (await turnsOperation(model, call, operation)) return { call, leftOut: [] };
      return planFiles(model, acted, decisions);
    },
    goal: byFiles.goal,
    undoing: (turned) =>
      turned.operations === undefined
        ? byFiles.undoing(turned)
        : takeBackOperation(folder, again, operation, turned, other),
  };
}

/** Whether a request would undo or redo exactly the steps of an action. */
async function turnsJust(folder: ActingFolder, call: ActingCall, acted: Acted): Promise<boolean> {
  const names = ({ steps }: Acted): string => JSON.stringify((steps ?? []).map(({ stepId }) => stepId).sort());
  const turned = await foretold(folder, call);
  return turned !== undefined && names(turned) === names(acted);
}

/** Whether a request would undo or redo exactly one operation. */
async function turnsOperation(
  folder: ActingFolder,
  call: ActingCall,
  { before, after }: Pick<Acted, "before" | "after">,
): Promise<boolean> {
  const { steps = [], operations = [] } = (await foretold(folder, call)) ?? {};
  const [only, ...others] = operations;
  return steps.length + others.length === 0 && only?.before === before && only.after === after;
}

/** What a request would do; undefined where nothing is left to undo, or to redo. */
async function foretold(folder: ActingFolder, call: ActingCall): Promise<Acted | undefined> {
  try {
    return await foretell(folder, call);
  } catch (error) {
    if (error instanceof SnapdError && ["nothingToUndo", "nothingToRedo"].includes(error.kind ?? "")) return undefined;
    throw error;
  }
}

async function planFiles(folder: ActingFolder, acted: Acted, decisions: Decisions): Promise<Plan> {
  const files = written(acted.files);
  // With a snapshot of just now, whatever changes from here on is merged and not written over.
  const { hash } = await folder.request("snapshot/track", {});
  if (hash === null) throw new Refused("Snapshots are off for this folder.");
  const changed = await differences(folder, acted.after, hash, files.map(exactName));
  const isLeft = (file: FileOutcome): boolean =>
    changed.has(exactName(file)) && decisions.get(exactName(file)) !== "overwrite";
  const leftOut = files
    .filter(isLeft)
    .map(({ file, uri }): FileOutcome => ({ file, ...(uri && { uri }), outcome: "conflict", reason: "changedSince" }));
  const rest = files.filter((file) => !isLeft(file)).map(exactName);
  if (rest.length === 0) return { settled: { applied: true, before: hash, after: hash, files: leftOut } };
  const patches = [{ hash: acted.before, files: rest }];
  return { call: { method: "snapshot/revert", params: { patches, onConflict: "merge" } }, leftOut };
}
