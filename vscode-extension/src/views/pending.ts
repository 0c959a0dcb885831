// The view "Pending": what agents changed and nobody has kept yet.

import {
  type Disposable,
  EventEmitter,
  type TreeDataProvider,
  type TreeItem,
  TreeItemCollapsibleState,
  type TreeView,
  commands,
  window,
} from "vscode";
import type { FolderModel } from "../model/folder";
import type { WorkspaceModel } from "../model/workspace";
import { LiveTree } from "./liveTree";
import { type PendingItem, pendingInWords, pendingTree, presentPending } from "./pendingTree";
import { rowOf, describe } from "./treeItems";

const CLICKS = {
  pendingFolder: undefined,
  pending: { command: "snapd.openPending", title: "Open Pending Changes" },
  morePending: { command: "snapd.showMorePending", title: "Show More Pending Files" },
};

/** Shows the files with pending changes, as they come and go. */
export class PendingView implements TreeDataProvider<PendingItem>, Disposable {
  readonly #model: WorkspaceModel;
  readonly #changed = new EventEmitter<PendingItem[] | undefined>();
  readonly #view: TreeView<PendingItem>;
  readonly #tree = new LiveTree<PendingItem>();
  readonly #subscriptions: readonly { dispose(): void }[];
  #hasPending: boolean | undefined;
  /** Of the badge: it holds all that the badge shows. */
  #tooltip: string | undefined;

  readonly onDidChangeTreeData = this.#changed.event;

  constructor(model: WorkspaceModel) {
    this.#model = model;
    this.#view = window.createTreeView<PendingItem>("snapd.pending", { treeDataProvider: this });
    const update = () => {
      this.#update();
    };
    this.#subscriptions = [
      this.#view,
      this.#changed,
      // the history says who made a change
      model.onDidChange(update),
      model.onDidChangeReview(update),
      model.onDidChangeComments(update),
      this.#view.onDidChangeVisibility(({ visible }) => {
        // as the view "Steps": a row that is refreshed while VS Code asks for all of them is lost
        if (visible) this.#changed.fire(undefined);
      }),
    ];
    this.#update();
  }

  getTreeItem(item: PendingItem): TreeItem {
    const state = item.kind === "pendingFolder" ? TreeItemCollapsibleState.Expanded : TreeItemCollapsibleState.None;
    return rowOf(item, presentPending(item), state, item.kind, CLICKS[item.kind]);
  }

  getChildren(item?: PendingItem): PendingItem[] {
    return [...(item === undefined ? this.#tree.top : this.#tree.below(item))];
  }

  dispose(): void {
    for (const subscription of this.#subscriptions) subscription.dispose();
  }

  #update(): void {
    const folders = this.#model.folders;
    const changed = this.#tree.update(pendingTree(folders));
    if (changed === undefined) this.#changed.fire(undefined);
    else if (changed.length > 0) this.#changed.fire([...changed]);
    this.#tellAround(folders);
  }

  /** Sets what the view shows beside its rows. */
  #tellAround(folders: readonly FolderModel[]): void {
    const problem = folders.find(({ review }) => review.problem !== undefined)?.review.problem;
    describe(this.#view, "", problem === undefined ? "" : `Cannot list pending changes: ${problem.message}`);
    const count = folders.reduce((sum, { review }) => sum + review.totals.files, 0);
    const tooltip = `${pendingInWords(folders)} pending`;
    if (tooltip !== this.#tooltip) {
      this.#tooltip = tooltip;
      this.#view.badge = count === 0 ? undefined : { value: count, tooltip };
    }
    if (count > 0 === this.#hasPending) return;
    this.#hasPending = count > 0;
    void commands.executeCommand("setContext", "snapd.hasPending", this.#hasPending);
  }
}
