// What is before and after a change: which documents a diff shows.

import { createHash } from "node:crypto";
import type { Entry, FileDiff, Step } from "snapd-client";
import { type ChangedFile, requestName, spanOf } from "../model/changes";
import type { FolderModel } from "../model/folder";
import { ownDiffs, treeDiffs } from "./contents";
import type { Place } from "./uris";

/** A file before and after; undefined where it did not exist. */
export interface Sides {
  readonly file: ChangedFile;
  readonly before: Place | undefined;
  readonly after: Place | undefined;
}

/** What is asked of a folder. */
export type Looked = Pick<FolderModel, "uri" | "request">;

/**
 * The sides of some files of an entry or an ended step.
 *
 * They are those of the snapshots around it. Only where these hold more than what an applied step changed itself,
 * because other steps were open beside it or its agent had left, are they the step's own texts. Of an undone step the
 * daemon tells no own texts, and of binary files neither: then the snapshots have to do.
 *
 * @returns without files in which nothing of the change is left to see.
 * @throws SnapdError, ConnectionLostError: see `SnapdClient.request`.
 */
export async function sidesOf(
  folder: Looked,
  entry: Entry | Step,
  files: readonly ChangedFile[],
): Promise<readonly Sides[]> {
  const step = stepOf(entry);
  const { before, after } = spanOf(entry);
  if (after === undefined) return [];
  const from = (file: ChangedFile): Place | undefined =>
    file.movedFrom !== undefined
      ? place(folder, before, requestName(file.movedFrom), step, "before")
      : file.status === "added"
        ? undefined
        : place(folder, before, requestName(file), step, "before");
  const to = (file: ChangedFile): Place | undefined =>
    file.status === "deleted" ? undefined : place(folder, after, requestName(file), step, "after");
  // an entry that is no step shows just the difference between its snapshots
  if (step === undefined) return files.map((file) => ({ file, before: from(file), after: to(file) }));

  const names = files.flatMap(namesOf);
  const [own, trees] = await Promise.all([
    step.state === "applied" || step.state === "partly"
      ? prints(ownDiffs(folder, { ...ownOf(step), contents: true }), names)
      : NONE,
    prints(treeDiffs(folder, { from: before, to: after, files: names, contents: true }), names),
  ]);
  return files.flatMap((file) => {
    const told = namesOf(file).map((name) => ({ mine: own.get(name), tree: trees.get(name) }));
    if (told.every(({ mine, tree }) => mine === undefined || !mine.hasText || mine.print === tree?.print)) {
      return asInTrees(file, trees, from, to);
    }
    const ownSide = (side: Place | undefined): Place | undefined =>
      side === undefined ? undefined : { ...side, own: step.sessionId };
    return [{ file, before: ownSide(from(file)), after: ownSide(to(file)) }];
  });
}

/** The step that an entry is about, or that it is. */
export function stepOf(entry: Entry | Step): Step | undefined {
  return "from" in entry ? entry : entry.step;
}

const NONE: Promise<Prints> = Promise.resolve(new Map());

interface Print {
  readonly status: FileDiff["status"];
  readonly hasText: boolean;
  /** The same for the same change. */
  readonly print: string;
}

type Prints = ReadonlyMap<string, Print>;
type SideOf = (file: ChangedFile) => Place | undefined;

// The snapshots decide what was there: a file that one step added and another deleted meanwhile is in none of them.
function asInTrees(file: ChangedFile, trees: Prints, from: SideOf, to: SideOf): readonly Sides[] {
  if (file.movedFrom !== undefined) return [{ file, before: from(file), after: to(file) }];
  const tree = trees.get(requestName(file));
  if (tree === undefined) return [];
  const shown = { ...file, status: tree.status };
  return [{ file, before: from(shown), after: to(shown) }];
}

function ownOf({ sessionId, stepId }: Step): { sessionId: string; stepId: string } {
  return { sessionId, stepId };
}

function namesOf(file: ChangedFile): readonly string[] {
  return file.movedFrom === undefined ? [requestName(file)] : [requestName(file), requestName(file.movedFrom)];
}

function place(folder: Looked, hash: string, file: string, step: Step | undefined, side: "before" | "after"): Place {
  return step === undefined
    ? { folder: folder.uri, hash, file, side }
    : { folder: folder.uri, hash, file, stepId: step.stepId, side };
}

/** Reads diffs until all names are found; of the texts only what tells them apart is kept. */
async function prints(diffs: AsyncGenerator<FileDiff>, names: readonly string[]): Promise<Prints> {
  const missing = new Set(names);
  const found = new Map<string, Print>();
  for await (const diff of diffs) {
    const name = requestName(diff);
    if (!missing.delete(name)) continue;
    const print = createHash("sha256")
      .update(JSON.stringify([diff.status, diff.binary, diff.encoding, diff.before, diff.after]))
      .digest("hex");
    found.set(name, { status: diff.status, hasText: !diff.binary && diff.tooLarge === undefined, print });
    if (missing.size === 0) break;
  }
  return found;
}
