// Marks in the gutter: VS Code compares the text with the baseline itself, also while it is typed.

import { type Disposable, type QuickDiffProvider, type SourceControl, Uri, scm } from "vscode";
import { requestName } from "../model/changes";
import { baselineOf } from "../documents/pendingDiffs";
import type { FolderModel } from "../model/folder";
import type { WorkspaceModel } from "../model/workspace";
import { withPendingLines } from "./inEditors";

interface Known {
  readonly control: SourceControl;
  /** The files with pending lines when VS Code last got an event. */
  names: string;
}

/** Gives VS Code the baselines of files with pending changes. */
export class BaselineGutter implements QuickDiffProvider, Disposable {
  readonly #model: WorkspaceModel;
  readonly #known = new Map<string, Known>();
  readonly #subscription: { dispose(): void };

  constructor(model: WorkspaceModel) {
    this.#model = model;
    this.#subscription = model.onDidChangeReview(() => {
      this.#update();
    });
    this.#update();
  }

  provideOriginalResource(uri: Uri): Uri | undefined {
    const file = this.#model.fileOf(uri.toString());
    const pending = file === undefined ? undefined : withPendingLines(file);
    return file === undefined || pending === undefined ? undefined : baselineOf(file.folder, pending);
  }

  dispose(): void {
    this.#subscription.dispose();
    for (const { control } of this.#known.values()) control.dispose();
    this.#known.clear();
  }

  #update(): void {
    const folders = new Map(this.#model.folders.map((folder) => [folder.id, folder]));
    for (const [id, { control }] of this.#known) {
      if (folders.has(id)) continue;
      control.dispose();
      this.#known.delete(id);
    }
    for (const folder of folders.values()) this.#updateFolder(folder);
  }

  #updateFolder(folder: FolderModel): void {
    const pending = folder.review.files.filter(({ hunks }) => hunks > 0).map(requestName);
    const known = this.#known.get(folder.id);
    // VS Code lists each source control: there is none before there is something to show
    if (known === undefined && pending.length === 0) return;
    const names = JSON.stringify(pending);
    if (known?.names === names) return;
    const control = known?.control ?? this.#create(folder);
    // that it is set has VS Code ask again
    control.quickDiffProvider = this;
    this.#known.set(folder.id, { control, names });
  }

  #create(folder: FolderModel): SourceControl {
    const control = scm.createSourceControl("snapd", "Agent Steps", Uri.parse(folder.id, true));
    control.inputBox.visible = false;
    control.count = 0;
    return control;
  }
}
