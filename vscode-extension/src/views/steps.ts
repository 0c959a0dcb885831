// The view "Steps".

import {
  type Disposable,
  EventEmitter,
  type TreeDataProvider,
  type TreeItem,
  TreeItemCollapsibleState,
  type TreeView,
  window,
} from "vscode";
import type { FolderModel } from "../model/folder";
import type { WorkspaceModel } from "../model/workspace";
import { counted } from "../model/wording";
import { fileItem, folderItem } from "./arrange";
import type { SessionFilter } from "./filter";
import type { EntryItem, Item, SessionItem } from "./items";
import { LiveTree } from "./liveTree";
import { present } from "./presentation";
import { type StepsNode, isOpenable, stepsTree } from "./stepsTree";
import { describe, treeItem } from "./treeItems";
import { whileVisible } from "./visibility";

/** Shows sessions, their turns, steps and files, as they happen. */
export class StepsView implements TreeDataProvider<Item>, Disposable {
  readonly #model: WorkspaceModel;
  readonly #filter: SessionFilter;
  readonly #changed = new EventEmitter<Item[] | undefined>();
  readonly #view: TreeView<Item>;
  readonly #tree = new LiveTree<StepsNode>();
  readonly #subscriptions: readonly { dispose(): void }[];
  /** The time that "5 min ago" is counted from; other changes do not move it. */
  #now = Date.now();

  readonly onDidChangeTreeData = this.#changed.event;

  constructor(model: WorkspaceModel, filter: SessionFilter) {
    this.#model = model;
    this.#filter = filter;
    this.#view = window.createTreeView<Item>("snapd.steps", {
      treeDataProvider: this,
      showCollapseAll: true,
      canSelectMany: true,
    });
    const update = () => {
      this.#update();
    };
    this.#subscriptions = [
      this.#view,
      this.#changed,
      model.onDidChange(update),
      filter.onDidChange(update),
      whileVisible(this.#view, () => {
        this.#now = Date.now();
        // VS Code asks for all nodes itself when a view becomes visible. If one is refreshed just then, it loses the
        // nodes below that one; a refresh of everything makes it ask again.
        this.#update();
        this.#changed.fire(undefined);
      }),
    ];
    this.#update();
  }

  getTreeItem(item: Item): TreeItem {
    return treeItem(item, present(item, this.#now), this.#stateOf(item));
  }

  getChildren(item?: Item): Item[] | Promise<Item[]> {
    if (item === undefined) return [...this.#tree.top];
    switch (item.kind) {
      case "folder":
      case "session":
      case "turn":
        return [...this.#tree.below(item)];
      case "file":
        return [];
      default:
        return this.#belowEntry(item);
    }
  }

  dispose(): void {
    for (const subscription of this.#subscriptions) subscription.dispose();
  }

  /** What stands below an entry: the parts of a step, and its files. */
  async #belowEntry(item: EntryItem): Promise<Item[]> {
    // moved files that cannot be detected, as after snapshots expired, are shown as deleted and added
    const files = await item.folder.changedFiles(item.entry).catch(() => item.entry.files);
    return [...this.#tree.below(item), ...files.map((file) => fileItem(item, file))];
  }

  #stateOf(item: Item): TreeItemCollapsibleState {
    switch (item.kind) {
      case "folder":
        return TreeItemCollapsibleState.Expanded;
      case "session":
        return this.#isFresh(item) ? TreeItemCollapsibleState.Expanded : TreeItemCollapsibleState.Collapsed;
      case "turn":
        if (item.items.length === 0) return TreeItemCollapsibleState.None;
        return item.isLatest ? TreeItemCollapsibleState.Expanded : TreeItemCollapsibleState.Collapsed;
      case "file":
        return TreeItemCollapsibleState.None;
      default:
        return isOpenable(item) ? TreeItemCollapsibleState.Collapsed : TreeItemCollapsibleState.None;
    }
  }

  /** Whether a session is worth a look unasked: the latest one, and those in which a step is running. */
  #isFresh(item: SessionItem): boolean {
    const { top } = this.#tree;
    const beside = top.some(({ kind }) => kind === "folder") ? this.#tree.below(folderItem(item.folder)) : top;
    if (beside.find(({ kind }) => kind === "session")?.id === item.id) return true;
    return this.#tree.below(item).some(({ turn, step }) => (turn ?? step)?.state === "open");
  }

  #update(): void {
    const folders = this.#model.folders;
    this.#tellAround(folders);
    const changed = this.#tree.update(stepsTree(folders, this.#filter.sessionId, this.#now));
    if (changed === undefined) this.#changed.fire(undefined);
    else if (changed.length > 0) this.#changed.fire([...changed]);
  }

  /** Sets what the view shows beside its nodes. */
  #tellAround(folders: readonly FolderModel[]): void {
    const problems = folders.filter(({ problem }) => problem !== undefined);
    describe(this.#view, this.#filteredName(), messageOf(folders));
    // VS Code adds up the badges of all views: what is pending has one as well, and running steps are in the status bar
    this.#view.badge =
      problems.length > 0
        ? {
            value: problems.length,
            tooltip: counted(problems.length, "folder has a problem", "folders have a problem"),
          }
        : undefined;
  }

  #filteredName(): string {
    const sessionId = this.#filter.sessionId;
    if (sessionId === undefined) return "";
    const session = this.#model.folders
      .flatMap(({ sessions }) => sessions)
      .find((each) => each.sessionId === sessionId);
    return session === undefined ? `Session ${sessionId.slice(0, 8)}` : session.name;
  }
}

function messageOf(folders: readonly FolderModel[]): string {
  const [only, ...others] = folders;
  if (only === undefined) return "";
  // before that, "no agent has worked here yet" would be a guess
  if (folders.every(({ loaded }) => !loaded)) return "Reading the history...";
  // of several, each node tells its own
  if (others.length > 0) return "";
  if (only.problem !== undefined) return only.problem.message;
  return only.enabled ? "" : "Snapshots are off for this folder.";
}
