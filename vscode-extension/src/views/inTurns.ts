// Puts what stands below a session under its turns.

import type { Entry } from "@snapd/client";
import type { FolderModel } from "../model/folder";
import { type Turn, turnKey, turnOfEntry } from "../model/turns";
import type { EntryItem, TurnItem } from "./items";

/** A turn that is being put together; what is below it comes oldest first. */
interface Gathered {
  readonly turn: Turn;
  readonly items: EntryItem[];
}

/**
 * Puts entries under the turns that they belong to.
 *
 * A turn stands where its prompt, or its first step, was. A step belongs to the turn that it names. What the user changed
 * or undid stands with the step before it, whatever comes later: a visible row does not move.
 *
 * A prompt for which nothing was done is a row too: between the others, it is how people remember what was when. A
 * message without a text says nothing until it has a step. Those of a session whose steps are all parts of other
 * sessions' steps are not shown, like that session.
 *
 * @param entries - of one session, newest first, without those that stand below others.
 * @param itemOf - makes the item of one that is no message.
 * @returns newest first; what belongs to no turn stands beside the turns.
 */
export function inTurns(
  folder: FolderModel,
  entries: readonly Entry[],
  itemOf: (entry: Entry) => EntryItem,
): readonly (TurnItem | EntryItem)[] {
  const turnOf = (entry: Entry): Turn | undefined => {
    const id = turnOfEntry(entry);
    return id === undefined ? undefined : folder.turn(id);
  };
  const hasSteps = entries.some(({ step }) => step !== undefined);
  const isPrompt = ({ text, steps }: Turn): boolean => text !== undefined && (hasSteps || steps.length === 0);
  const rows: (Gathered | EntryItem)[] = [];
  const gathered = new Map<Turn, Gathered>();
  const begun = (turn: Turn): Gathered => {
    const row = { turn, items: [] };
    gathered.set(turn, row);
    rows.push(row);
    return row;
  };
  let last: Gathered | undefined;
  for (const entry of entries.toReversed()) {
    const turn = turnOf(entry);
    const isMessage = entry.kind === "message";
    // without a prompt to show, the turn begins with its first step
    if (isMessage && (turn === undefined || !isPrompt(turn))) continue;
    const row = turn === undefined ? undefined : (gathered.get(turn) ?? begun(turn));
    if (isMessage) continue;
    if (entry.kind === "step") last = row;
    (last?.items ?? rows).push(itemOf(entry));
  }
  const latest = rows.findLast((row) => "items" in row && row.items.length > 0);
  return rows.reverse().map((row) => ("items" in row ? turnItem(folder, row, row === latest) : row));
}

function turnItem(folder: FolderModel, { turn, items }: Gathered, isLatest: boolean): TurnItem {
  // The latest one goes by a name of its own: for VS Code, one that is no longer the latest is then a new row, which
  // comes folded.
  const id = `${folder.id} turn:${turnKey(turn)}${isLatest ? " latest" : ""}`;
  return { kind: "turn", id, folder, turn, items: items.toReversed(), isLatest };
}
