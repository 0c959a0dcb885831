// The view "File Timeline": what happened to the file in the active editor.

import {
  type Disposable,
  EventEmitter,
  type TreeDataProvider,
  type TreeItem,
  TreeItemCollapsibleState,
  type TreeView,
  type Uri,
  window,
} from "vscode";
import { splitName } from "../model/fileUris";
import type { WorkspaceModel } from "../model/workspace";
import { activeUri, followedBy } from "./activeFile";
import type { FileItem } from "./items";
import { LiveTree } from "./liveTree";
import { presentInTimeline } from "./presentation";
import { timelineTree } from "./timeline";
import { describe, treeItem } from "./treeItems";
import { whileVisible } from "./visibility";

/** Follows the active editor. */
export class FileTimelineView implements TreeDataProvider<FileItem>, Disposable {
  readonly #model: WorkspaceModel;
  readonly #changed = new EventEmitter<FileItem[] | undefined>();
  readonly #view: TreeView<FileItem>;
  readonly #tree = new LiveTree<FileItem>();
  readonly #subscriptions: readonly { dispose(): void }[];
  #uri: Uri | undefined;
  #now = Date.now();

  readonly onDidChangeTreeData = this.#changed.event;

  constructor(model: WorkspaceModel) {
    this.#model = model;
    this.#view = window.createTreeView<FileItem>("snapd.fileTimeline", { treeDataProvider: this });
    const update = () => {
      this.#update();
    };
    this.#subscriptions = [
      this.#view,
      this.#changed,
      model.onDidChange(update),
      // images and the like have a tab and no editor
      window.tabGroups.onDidChangeTabs(update),
      window.tabGroups.onDidChangeTabGroups(update),
      whileVisible(this.#view, () => {
        this.#now = Date.now();
        this.#update();
      }),
    ];
    this.#update();
  }

  getTreeItem(item: FileItem): TreeItem {
    return treeItem(item, presentInTimeline(item, this.#now), TreeItemCollapsibleState.None);
  }

  getChildren(item?: FileItem): FileItem[] {
    return [...(item === undefined ? this.#tree.top : this.#tree.below(item))];
  }

  dispose(): void {
    for (const subscription of this.#subscriptions) subscription.dispose();
  }

  #update(): void {
    this.#uri = activeUri(this.#uri);
    const followed = this.#uri === undefined ? undefined : followedBy(this.#model, this.#uri);
    const top = followed === undefined ? [] : timelineTree(followed.folder, followed.name, this.#now);
    const isUntouched = followed !== undefined && top.length === 0;
    describe(
      this.#view,
      followed === undefined ? "" : splitName(followed.name).base,
      isUntouched ? "No step changed this file." : "",
    );
    const changed = this.#tree.update(top);
    if (changed === undefined) this.#changed.fire(undefined);
    else if (changed.length > 0) this.#changed.fire([...changed]);
  }
}
