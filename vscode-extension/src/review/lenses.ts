// "Keep | Undo | claude" above each pending hunk.

import { CodeLens, type CodeLensProvider, type Disposable, EventEmitter, Range, type TextDocument } from "vscode";
import { agentsOf, makerLine, makersOf, promptsOf } from "../model/makers";
import type { WorkspaceModel } from "../model/workspace";
import { pendingIn, targetOf } from "./inEditors";

/**
 * Milliseconds from a change until VS Code is told of it once more: it forgets to ask for the lenses of an editor that
 * loses the focus just then.
 */
const AGAIN = 1_000;

/** Offers what can be done with each hunk, and says who made it. */
export class HunkLenses implements CodeLensProvider, Disposable {
  readonly #model: WorkspaceModel;
  readonly #changed = new EventEmitter<void>();
  readonly #subscriptions: readonly { dispose(): void }[];
  #timer: NodeJS.Timeout | undefined;

  readonly onDidChangeCodeLenses = this.#changed.event;

  constructor(model: WorkspaceModel) {
    this.#model = model;
    const change = () => {
      this.#changed.fire();
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => {
        this.#changed.fire();
      }, AGAIN);
    };
    // the history says who made a change
    this.#subscriptions = [this.#changed, model.onDidChangeReview(change), model.onDidChange(change)];
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

  dispose(): void {
    clearTimeout(this.#timer);
    for (const subscription of this.#subscriptions) subscription.dispose();
  }
}
