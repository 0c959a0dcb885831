// From how an item looks to what VS Code shows.

import { ThemeColor, ThemeIcon, TreeItem, type TreeItemCollapsibleState, type TreeView, Uri } from "vscode";
import { type Item, contextValue } from "./items";
import type { Presentation } from "./presentation";

const QUIET = new ThemeColor("disabledForeground");

/** What a click on a row does. */
interface Click {
  readonly command: string;
  readonly title: string;
}

/** A row of a tree of entries. */
export function treeItem(item: Item, look: Presentation, state: TreeItemCollapsibleState): TreeItem {
  return rowOf(item, look, state, contextValue(item), clickOf(item));
}

/**
 * A row of any tree.
 *
 * @param context - what the menus of package.json know it by.
 */
export function rowOf(
  item: { readonly id: string },
  look: Presentation,
  state: TreeItemCollapsibleState,
  context: string,
  click: Click | undefined,
): TreeItem {
  const row = new TreeItem(look.label, state);
  row.id = item.id;
  row.description = look.description;
  row.tooltip = look.tooltip;
  row.contextValue = context;
  row.accessibilityInformation = { label: look.spoken };
  row.iconPath = look.icon === undefined ? ThemeIcon.File : new ThemeIcon(look.icon, look.quiet ? QUIET : undefined);
  if (look.mark !== undefined) row.resourceUri = Uri.parse(look.mark, true);
  if (click !== undefined) row.command = { ...click, arguments: [item] };
  return row;
}

/** Says something beside the name of a view, and above its nodes; what it says already is not drawn once more. */
export function tell(view: TreeView<unknown>, description: string, message: string): void {
  if (view.description !== description) view.description = description;
  if (view.message !== message) view.message = message;
}

function clickOf(item: Item): Click | undefined {
  if (item.kind === "file") return { command: "snapd.openFileDiff", title: "Open Changes" };
  if (item.kind === "folder" || item.kind === "session" || item.kind === "turn") return undefined;
  const isWorthIt = item.entry.files.length > 0 || item.step?.state === "open";
  return isWorthIt ? { command: "snapd.openStepDiff", title: "Open All Changes of Step" } : undefined;
}
