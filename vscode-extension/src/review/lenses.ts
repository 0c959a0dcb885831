// "Keep | Undo | claude" above each pending hunk.

import { CodeLens, type CodeLensProvider, Range, type TextDocument } from "vscode";
import { agentsOf, makerLine, makersOf, promptsOf } from "../model/makers";
import type { WorkspaceModel } from "../model/workspace";
import { pendingIn, targetOf } from "./inEditors";
import type { LensSignal } from "./lensSignal";

/** Offers the actions for each hunk, and names its author. */
export class HunkLenses implements CodeLensProvider {
  readonly #model: WorkspaceModel;
  readonly #signal: LensSignal;

  constructor(model: WorkspaceModel, signal: LensSignal) {
    this.#model = model;
    this.#signal = signal;
  }

  get onDidChangeCodeLenses() {
    return this.#signal.onDidChangeCodeLenses;
  }

  provideCodeLenses(document: TextDocument): CodeLens[] {
    const pending = pendingIn(this.#model, document);
    if (pending === undefined) return [];
    return pending.hunks.flatMap((placed) => {
      const range = new Range(placed.first, 0, placed.first, 0);
      const target = targetOf(pending, placed);
      const makers = makersOf(pending.folder, placed.hunk.owners);
      const who = [...new Set(makers.map(makerLine)), ...promptsOf(makers)].join("\n");
      const what = target.hunks === undefined ? "this new file" : "this hunk";
      return [
        new CodeLens(range, {
          command: "snapd.keepHunk",
          title: "Keep",
          tooltip: `Accept ${what}`,
          arguments: [target],
        }),
        new CodeLens(range, {
          command: "snapd.undoHunk",
          title: "Undo",
          tooltip: `Take ${what} back`,
          arguments: [target],
        }),
        new CodeLens(range, {
          command: "snapd.openPending",
          title: agentsOf(makers),
          tooltip: who,
          arguments: [document.uri],
        }),
      ];
    });
  }
}
