// Arranges the loaded folders for the view: sessions, their turns and steps, and the events between them.

import { type Entry, type Session, type Step, isEmpty } from "@snapd/client";
import type { ChangedFile } from "../model/changes";
import { requestName } from "../model/changes";
import type { FolderModel } from "../model/folder";
import { ancestry, entryKey } from "../model/history";
import { inTurns } from "./inTurns";
import type {
  EntryItem,
  FileItem,
  FolderItem,
  OperationItem,
  SessionItem,
  StepItem,
  TurnItem,
  UserItem,
} from "./items";

/** A folder in order. */
export interface Arranged {
  /** Sessions and what belongs to none, newest first. */
  readonly top: readonly (SessionItem | EntryItem)[];
  /** What stands below each session, newest first; by its name. */
  readonly below: ReadonlyMap<string, readonly (TurnItem | EntryItem)[]>;
}

/** The node of a folder. */
export function folderItem(folder: FolderModel): FolderItem {
  return { kind: "folder", id: folder.id, folder };
}

/**
 * Puts a folder in order.
 *
 * An operation stands in the session that it was about; what the user changed, in that of the step before it; each
 * stands once. A part of a step stands below that step. Of messages, see `inTurns`.
 *
 * @param only - the name of the only session that is shown; undefined for all.
 */
export function arrange(folder: FolderModel, only: string | undefined): Arranged {
  const find = (stepId: string): Step | undefined => steps.get(stepId);
  const steps = new Map<string, Step>();
  for (const { step } of folder.entries) if (step !== undefined) steps.set(step.stepId, step);
  const homes = homesOf(folder, find);
  const shown = folder.entries.filter(
    (entry) => only === undefined || homes.get(entry) === only || entry.step?.sessionId === only,
  );
  const { roots, item } = nested(folder, shown);
  const known = new Set(folder.sessions.map(({ sessionId }) => sessionId));
  const own = new Map<string, Entry[]>();
  const top: { item: SessionItem | EntryItem; at: string }[] = [];
  for (const entry of roots) {
    const home = only ?? homes.get(entry);
    if (home === undefined || !known.has(home)) {
      // a message says nothing without its session
      if (entry.kind !== "message") top.push({ item: item(entry), at: entry.at });
      continue;
    }
    const list = own.get(home);
    if (list === undefined) own.set(home, [entry]);
    else list.push(entry);
  }
  const below = new Map([...own].map(([home, entries]) => [home, inTurns(folder, entries, item)]));
  for (const session of folder.sessions) {
    if (!isShown(session, only, below)) continue;
    // by its start: a row that moved up with each step of an agent would move away from under the pointer
    top.push({ item: sessionItem(folder, session), at: session.startedAt });
  }
  // a stable sort: what is at the same time stays in the order of the history
  top.sort((one, two) => (one.at === two.at ? 0 : one.at < two.at ? 1 : -1));
  return { top: top.map(({ item }) => item), below };
}

/** A file of an entry. */
export function fileItem(parent: EntryItem, file: ChangedFile): FileItem {
  const { folder, entry, step, id } = parent;
  const item = { kind: "file" as const, id: `${id} ${requestName(file)}`, folder, entry, file };
  return step === undefined ? item : { ...item, step };
}

/** An entry, with the parts of a step below it. */
export function entryItem(folder: FolderModel, entry: Entry, parts: readonly StepItem[]): EntryItem {
  const id = `${folder.id} ${entryKey(entry)}`;
  if (entry.step !== undefined) return { kind: "step", id, folder, entry, step: entry.step, parts } satisfies StepItem;
  if (entry.kind === "user") return { kind: "user", id, folder, entry } satisfies UserItem;
  return { kind: "operation", id, folder, entry } satisfies OperationItem;
}

function sessionItem(folder: FolderModel, session: Session): SessionItem {
  return { kind: "session", id: `${folder.id} session:${session.sessionId}`, folder, session };
}

// A session whose steps are all parts of another's, or older than the history that is shown, would be an empty node; and
// one that has ended with nothing but messages is a talk about no file.
function isShown(
  { sessionId, stepCount, endedAt }: Session,
  only: string | undefined,
  below: Arranged["below"],
): boolean {
  if (only !== undefined) return sessionId === only;
  const items = below.get(sessionId) ?? [];
  if (items.some((item) => item.kind !== "turn" || item.items.length > 0)) return true;
  return endedAt === undefined && (stepCount === 0 || items.length > 0);
}

/** The entries that are no parts of others that are shown, in order; and what makes the item of one, with its parts. */
function nested(
  folder: FolderModel,
  entries: readonly Entry[],
): { readonly roots: readonly Entry[]; readonly item: (entry: Entry) => EntryItem } {
  const shown = new Set(entries.map(({ step }) => step?.stepId));
  const partsOf = new Map<string, Entry[]>();
  const roots: Entry[] = [];
  const parents = new Set(entries.map(({ step }) => step?.parentStepId));
  for (const entry of entries) {
    const { step, files } = entry;
    if (step !== undefined && !parents.has(step.stepId) && isEmpty({ ...step, files })) continue;
    const parent = entry.step?.parentStepId;
    if (parent === undefined || !shown.has(parent)) roots.push(entry);
    else if (partsOf.get(parent)?.push(entry) === undefined) partsOf.set(parent, [entry]);
  }
  const item = (entry: Entry): EntryItem =>
    entryItem(folder, entry, (partsOf.get(entry.step?.stepId ?? "") ?? []).map(item).filter(isStep));
  return { roots, item };
}

function isStep(item: EntryItem): item is StepItem {
  return item.kind === "step";
}

/** The session that each entry stands in; none where there is no step at all. */
function homesOf(folder: FolderModel, find: (stepId: string) => Step | undefined): ReadonlyMap<Entry, string> {
  const homes = new Map<Entry, string>();
  const homeless: Entry[] = [];
  let before: string | undefined;
  for (const entry of folder.entries.toReversed()) {
    let home = entry.sessionId ?? before;
    if (entry.step !== undefined) {
      for (const step of ancestry(entry.step, find)) home = step.sessionId;
      before = home;
    }
    if (home === undefined) homeless.push(entry);
    else homes.set(entry, home);
    // what was before the first step belongs to that
    if (before !== undefined) for (const entry of homeless.splice(0)) homes.set(entry, before);
  }
  return homes;
}
