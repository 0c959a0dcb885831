// From how an item looks to what VS Code shows.

import { agentColour } from "@snapd/client";
import {
  type Disposable,
  ThemeColor,
  ThemeIcon,
  TreeItem,
  type TreeItemCollapsibleState,
  type TreeView,
  Uri,
  commands,
} from "vscode";
import { type Item, contextValue } from "./items";
import type { Presentation } from "./presentation";

const QUIET = new ThemeColor("disabledForeground");

/** Rows that keep their command, at most. */
const REMEMBERED = 5000;

/** What a click on a row does. */
interface Click {
  readonly command: string;
  readonly title: string;
}

interface RowCommand {
  readonly id: string;
  readonly registered: Disposable;
  /** What a click is on. */
  item: unknown;
}

/**
 * The commands of the rows, one for each and without arguments.
 *
 * VS Code forgets the arguments of a row's command as soon as it reads the row again. A click before the new row is
 * drawn would get an error that the command does not exist.
 */
class RowCommands {
  readonly #rows = new Map<string, RowCommand>();
  #count = 0;

  /** The command that calls another one on an item. */
  of(command: string, item: { readonly id: string }): string {
    const key = `${command} ${item.id}`;
    const row = this.#rows.get(key) ?? this.#register(command, item);
    row.item = item;
    this.#rows.delete(key);
    this.#rows.set(key, row);
    for (const [oldest, { registered }] of this.#rows) {
      if (this.#rows.size <= REMEMBERED) break;
      registered.dispose();
      this.#rows.delete(oldest);
    }
    return row.id;
  }

  #register(command: string, item: unknown): RowCommand {
    const id = `_snapd.row.${++this.#count}`;
    const registered = commands.registerCommand(id, () => commands.executeCommand(command, row.item));
    const row: RowCommand = { id, registered, item };
    return row;
  }
}

const rowCommands = new RowCommands();

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
  row.iconPath = look.icon === undefined ? ThemeIcon.File : new ThemeIcon(look.icon, colorOf(look));
  if (look.mark !== undefined) row.resourceUri = Uri.parse(look.mark, true);
  if (click !== undefined) row.command = { title: click.title, command: rowCommands.of(click.command, item) };
  return row;
}

/** The colour that an agent has everywhere; package.json contributes one for each of the palette. */
function colorOf({ quiet, agent }: Presentation): ThemeColor | undefined {
  if (quiet) return QUIET;
  return agent === undefined ? undefined : new ThemeColor(`snapd.agent.${agentColour(agent).name}`);
}

/** Sets the description and the message of a view, unless they are the same. */
export function describe(view: TreeView<unknown>, description: string, message: string): void {
  if (view.description !== description) view.description = description;
  if (view.message !== message) view.message = message;
}

function clickOf(item: Item): Click | undefined {
  if (item.kind === "file") return { command: "snapd.openFileDiff", title: "Open Changes" };
  if (item.kind === "folder" || item.kind === "session" || item.kind === "turn") return undefined;
  const isWorthIt = item.entry.files.length > 0 || item.step?.state === "open";
  return isWorthIt ? { command: "snapd.openStepDiff", title: "Open All Changes of Step" } : undefined;
}
