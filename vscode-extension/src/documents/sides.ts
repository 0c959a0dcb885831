// What is before and after a change: which documents a diff shows.

import type { Entry, FileChange, FileDiff, Step } from "@snapd/client";
import { type ChangedFile, type Span, requestName, spanOf } from "../model/changes";
import type { FolderModel } from "../model/folder";
import type { Turn } from "../model/turns";
import { ownDiffs, printOf, treeDiffs } from "./contents";
import type { Place } from "./uris";

/** A file before and after; undefined where it did not exist. */
export interface Sides {
  readonly file: ChangedFile;
  readonly before: Place | undefined;
  readonly after: Place | undefined;
}

/** The snapshots around a change. */
type Trees = Required<Span>;

/** What is asked of a folder. */
export type Looked = Pick<FolderModel, "uri" | "request">;

/**
 * The sides of some files of an entry or an ended step.
 *
 * They are those of the snapshots around it. Only where these hold more than what an applied step changed itself,
 * because other steps were open beside it or its agent had left, are they the step's own texts. Of an undone step the
 * daemon gives no texts of the step alone, nor of binary files: then the snapshots are used.
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
  const trees = { before, after };
  // an entry that is no step shows just the difference between its snapshots
  if (step === undefined) {
    const { from, to } = treeSides(folder, trees, {});
    return files.map((file) => ({ file, before: from(file), after: to(file) }));
  }
  const { sessionId, stepId } = step;
  const isInForce = step.state === "applied" || step.state === "partly";
  const own = isInForce ? ownDiffs(folder, { sessionId, stepId, contents: true }) : undefined;
  const names = new Set(files.flatMap(namesOf));
  return decided(folder, trees, files, own === undefined ? NONE : prints(own, names), {
    always: { stepId },
    own: () => ({ own: sessionId }),
  });
}

/**
 * The sides of the files that a turn changed in all, as far as its steps are in force; of one that was undone, of all.
 *
 * They are those of the snapshots around these steps, or the turn's own texts, as for one step.
 *
 * @throws SnapdError, ConnectionLostError: see `SnapdClient.request`.
 */
export async function turnSides(
  folder: Looked & Pick<FolderModel, "movedFiles">,
  turn: Turn,
): Promise<readonly Sides[]> {
  const { sessionId, messageId } = turn;
  const trees = treesAround(turn);
  if (trees === undefined) return [];
  const changes = new Map<string, FileChange>();
  const own = new Map<string, Print>();
  if (turn.state === "undone") {
    for (const change of turn.changes) changes.set(requestName(change), change);
  } else {
    for await (const diff of ownDiffs(folder, { sessionId, messageId, contents: true })) {
      const { file, uri, status, additions, deletions, binary } = diff;
      const change = { file, ...(uri !== undefined && { uri }), status, additions, deletions, binary };
      changes.set(requestName(diff), change);
      own.set(requestName(diff), printed(diff));
    }
  }
  const files = await folder.movedFiles([...changes.values()], trees);
  return decided(folder, trees, files, Promise.resolve(own), {
    always: {},
    own: (name) => {
      const print = own.get(name)?.print;
      return { own: sessionId, messageId, ...(print !== undefined && { print }) };
    },
  });
}

/** The snapshots around those steps of a turn that are in force; of one that was undone, around all. */
function treesAround({ steps, state }: Turn): Trees | undefined {
  const relevant = steps.filter((step) => step.to !== undefined && (state === "undone" || step.state !== "undone"));
  const by = (time: (step: Step) => string): readonly Step[] =>
    relevant.toSorted((one, other) => time(one).localeCompare(time(other)));
  const before = by(({ startedAt }) => startedAt)[0]?.from;
  const after = by(({ endedAt }) => endedAt ?? "").at(-1)?.to;
  return before === undefined || after === undefined ? undefined : { before, after };
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

/** What the documents of a change say besides what they show. */
interface Marks {
  readonly always: Pick<Place, "stepId">;
  /** Where the text is the change's own: for the file of this name. */
  readonly own: (name: string) => Pick<Place, "own" | "messageId" | "print">;
}

/** The sides of files: those of the snapshots, or where these hold more than the change itself, its own texts. */
async function decided(
  folder: Looked,
  { before, after }: Trees,
  files: readonly ChangedFile[],
  ownPrints: Promise<Prints>,
  marks: Marks,
): Promise<readonly Sides[]> {
  const names = files.flatMap(namesOf);
  // no files stand for all of them
  const between =
    names.length === 0
      ? NONE
      : prints(treeDiffs(folder, { from: before, to: after, files: names, contents: true }), new Set(names));
  const [own, trees] = await Promise.all([ownPrints, between]);
  const { from, to } = treeSides(folder, { before, after }, marks.always);
  return files.flatMap((file) => {
    const pairs = namesOf(file).map((name) => ({ mine: own.get(name), tree: trees.get(name) }));
    if (pairs.every(({ mine, tree }) => mine === undefined || !mine.hasText || mine.print === tree?.print)) {
      return asInTrees(file, trees, from, to);
    }
    const ownSide = (side: Place | undefined): Place | undefined =>
      side === undefined ? undefined : { ...side, ...marks.own(side.file) };
    return [{ file, before: ownSide(from(file)), after: ownSide(to(file)) }];
  });
}

/** Where the sides of a file are in the snapshots before and after it. */
function treeSides(
  folder: Looked,
  { before, after }: Trees,
  marks: Marks["always"],
): { readonly from: SideOf; readonly to: SideOf } {
  const place = (hash: string, file: string, side: "before" | "after"): Place => ({
    folder: folder.uri,
    hash,
    file,
    ...marks,
    side,
  });
  return {
    from: (file) =>
      file.movedFrom !== undefined
        ? place(before, requestName(file.movedFrom), "before")
        : file.status === "added"
          ? undefined
          : place(before, requestName(file), "before"),
    to: (file) => (file.status === "deleted" ? undefined : place(after, requestName(file), "after")),
  };
}

// The snapshots decide what was there: a file that one step added and another deleted meanwhile is in none of them.
function asInTrees(file: ChangedFile, trees: Prints, from: SideOf, to: SideOf): readonly Sides[] {
  if (file.movedFrom !== undefined) return [{ file, before: from(file), after: to(file) }];
  const tree = trees.get(requestName(file));
  if (tree === undefined) return [];
  const shown = { ...file, status: tree.status };
  return [{ file, before: from(shown), after: to(shown) }];
}

function namesOf(file: ChangedFile): readonly string[] {
  return file.movedFrom === undefined ? [requestName(file)] : [requestName(file), requestName(file.movedFrom)];
}

/** Reads diffs until all names are found; of the texts only what tells them apart is kept. */
async function prints(diffs: AsyncGenerator<FileDiff>, names: ReadonlySet<string>): Promise<Prints> {
  const missing = new Set(names);
  const found = new Map<string, Print>();
  for await (const diff of diffs) {
    const name = requestName(diff);
    if (!missing.delete(name)) continue;
    found.set(name, printed(diff));
    if (missing.size === 0) break;
  }
  return found;
}

function printed(diff: FileDiff): Print {
  return { status: diff.status, hasText: !diff.binary && diff.tooLarge === undefined, print: printOf(diff) };
}
