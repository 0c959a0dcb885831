// Files become what a snapshot has: to undo an action, and where the user chose that over what is there now.

import { type FileOutcome, SnapdError } from "@snapd/client";
import { counted } from "../model/wording";
import {
  type Acted,
  type ActingCall,
  type ActingFolder,
  type Action,
  always,
  foretell,
  type Overwriting,
  type Plan,
} from "./action";
import { differences } from "./differences";
import { Refused } from "./errors";
import { exactName, snapshotName } from "./names";
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
    aim: `take back ${what}`,
    done: () => `Took back ${what}`,
    shown: new Set(written(acted.files).map(exactName)),
    plan: (model) => planFiles(model, acted),
    overwriting: () => overwriteWithSnapshot(folder, acted.before, `before ${what}`),
    undoing: (again) => takeBack(folder, `the undo of ${what}`, again),
  };
}

/**
 * Takes back an undo or a redo of steps: by the request that turns them, as long as that turns just these; by their
 * files where the session has gone on.
 *
 * @param call - the request.
 * @param undoing - what takes back what the request did.
 */
export function takeBackSteps(
  folder: string,
  what: string,
  acted: Acted,
  call: ActingCall,
  undoing: Action["undoing"],
): Action {
  const byFiles = takeBack(folder, what, acted);
  return {
    folder,
    aim: byFiles.aim,
    done: byFiles.done,
    besides: (again) =>
      again.steps === undefined ? "The session has continued, so its steps are listed as before." : "",
    plan: async (model) => {
      if (await turnsJust(model, call, acted)) return { call, leftOut: [] };
      return planFiles(model, acted);
    },
    overwriting: byFiles.overwriting,
    undoing: (again) => (again.steps === undefined ? byFiles.undoing(again) : undoing(again)),
  };
}

/**
 * Takes back a revert of pending changes, so that they are pending again: by the request that undoes the operation, as
 * long as that undoes just this one; by its files where something else was done since.
 *
 * @param what - the revert, as a noun.
 * @param operation - the revert.
 * @param acted - what was done last: the revert itself, or its redo.
 * @param method - what takes that back.
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
      operations === undefined ? "Something else was done since, so what this brought back counts as yours." : "",
    plan: async (model) => {
      if (await turnsOperation(model, call, operation)) return { call, leftOut: [] };
      return planFiles(model, acted);
    },
    overwriting: byFiles.overwriting,
    undoing: (turned) =>
      turned.operations === undefined
        ? byFiles.undoing(turned)
        : takeBackOperation(folder, again, operation, turned, other),
  };
}

/** Files become what a snapshot has. */
export function overwriteWithSnapshot(folder: string, hash: string, place: string): Overwriting {
  const overwriting: Overwriting = {
    becomes: `what it was ${place}`,
    compared: () => ({ hash, name: place }),
    allows: () => true,
    with: (files) =>
      overwrite(
        folder,
        files,
        place,
        () => overwriting,
        snapshotCall(files, () => hash),
      ),
  };
  return overwriting;
}

/**
 * What makes files what snapshots have, whatever is there now.
 *
 * @param hashOf - the snapshot for a file.
 */
export function snapshotCall(files: readonly FileOutcome[], hashOf: (file: FileOutcome) => string): ActingCall {
  const hashes = new Set(files.map(hashOf));
  const patches = [...hashes].map((hash) => ({
    hash,
    files: files.filter((file) => hashOf(file) === hash).map(exactName),
  }));
  // without a word on conflicts, unsaved text of other editors is left alone
  const known = files.some(({ reason }) => reason === "unsavedInEditor");
  return { method: "snapshot/revert", params: known ? { patches, onConflict: "overwrite" } : { patches } };
}

/**
 * Writes over files that conflicted.
 *
 * @param place - the state that they get: "before step 3".
 * @param again - how it is done with what conflicts once more.
 * @param call - the request.
 */
export function overwrite(
  folder: string,
  files: readonly FileOutcome[],
  place: string,
  again: () => Overwriting,
  call: ActingCall,
): Action {
  const [first] = files;
  const what = files.length === 1 && first !== undefined ? first.file : counted(files.length, "file");
  return {
    folder,
    aim: `overwrite ${what}`,
    done: () => `Overwrote ${what} with what was there ${place}`,
    besides: ({ before }) => `What was overwritten stays in ${snapshotName(before)}.`,
    shown: new Set(files.map(exactName)),
    plan: always(call),
    overwriting: again,
    undoing: (acted) => takeBack(folder, `the overwriting of ${what}`, acted),
  };
}

/** Whether a request would turn the steps that an action turned, and no others. */
async function turnsJust(folder: ActingFolder, call: ActingCall, acted: Acted): Promise<boolean> {
  const names = ({ steps }: Acted): string => JSON.stringify((steps ?? []).map(({ stepId }) => stepId).sort());
  const turned = await foretold(folder, call);
  return turned !== undefined && names(turned) === names(acted);
}

/** Whether a request would turn one operation, and nothing else. */
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

async function planFiles(folder: ActingFolder, acted: Acted): Promise<Plan> {
  const files = written(acted.files);
  // With a snapshot of just now, whatever changes from here on is merged and not written over.
  const { hash } = await folder.request("snapshot/track", {});
  if (hash === null) throw new Refused("Snapshots are off for this folder.");
  const changed = await differences(folder, acted.after, hash, files.map(exactName));
  const leftOut = files
    .filter((file) => changed.has(exactName(file)))
    .map(({ file, uri }): FileOutcome => ({ file, ...(uri && { uri }), outcome: "conflict", reason: "changedSince" }));
  const rest = files.map(exactName).filter((name) => !changed.has(name));
  if (rest.length === 0) return { settled: { applied: true, before: hash, after: hash, files: leftOut } };
  const patches = [{ hash: acted.before, files: rest }];
  return { call: { method: "snapshot/revert", params: { patches, onConflict: "merge" } }, leftOut };
}
