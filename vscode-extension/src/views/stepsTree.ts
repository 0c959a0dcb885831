// The nodes of the view "Steps", but for the files: those are asked for when a node is opened.

import type { FolderModel } from "../model/folder";
import { type Arranged, arrange, folderItem } from "./arrange";
import type { Shown } from "./differing";
import { type EntryItem, type Item, type SessionItem, type TurnItem, contextValue } from "./items";
import { present } from "./presentation";

/** A node that is no file. */
export type StepsNode = Exclude<Item, { readonly kind: "file" }>;

/**
 * The whole tree: several folders each under a node of its own.
 *
 * @param only - the name of the only session that is shown; undefined for all.
 * @param now - milliseconds since 1970.
 */
export function stepsTree(
  folders: readonly FolderModel[],
  only: string | undefined,
  now: number,
): readonly Shown<StepsNode>[] {
  const [first, ...others] = folders;
  if (first === undefined) return [];
  if (others.length === 0) return ofArranged(arrange(first, only), now);
  const nodes = folders.map((folder) => {
    const item = folderItem(folder);
    return { item, look: look(item, now), below: ofArranged(arrange(folder, only), now) };
  });
  // with nothing in any of them, the welcome text says more than bare names
  const isWorthIt = ({ item: { folder }, below }: (typeof nodes)[number]) =>
    folder.problem !== undefined || !folder.enabled || below.length > 0;
  return nodes.some(isWorthIt) ? nodes : [];
}

/** Whether there is something to open below an entry. */
export function isOpenable(item: EntryItem): boolean {
  return item.entry.files.length > 0 || (item.kind === "step" && item.parts.length > 0);
}

function ofArranged({ top, below }: Arranged, now: number): readonly Shown<StepsNode>[] {
  const ofSession = (item: SessionItem): Shown<StepsNode> => ({
    item,
    look: look(item, now),
    below: (below.get(item.session.sessionId) ?? []).map((each) =>
      each.kind === "turn" ? ofTurn(each, now) : ofEntry(each, now),
    ),
  });
  return top.map((item) => (item.kind === "session" ? ofSession(item) : ofEntry(item, now)));
}

function ofTurn(item: TurnItem, now: number): Shown<StepsNode> {
  return { item, look: look(item, now), below: item.items.map((entry) => ofEntry(entry, now)) };
}

function ofEntry(item: EntryItem, now: number): Shown<StepsNode> {
  const parts = item.kind === "step" ? item.parts : [];
  // the model keeps the object for as long as the entry says the same: the files below show no more than it says
  return { item, look: [...look(item, now), item.entry], below: parts.map((part) => ofEntry(part, now)) };
}

function look(item: StepsNode, now: number): readonly unknown[] {
  return [JSON.stringify(present(item, now)), contextValue(item)];
}
