// The event after which VS Code requests the lenses again.

import { type Disposable, EventEmitter } from "vscode";
import type { WorkspaceModel } from "../model/workspace";

/**
 * Milliseconds from a change until it is signalled to VS Code again: it forgets to ask for the lenses of an editor that
 * loses the focus just then.
 */
const AGAIN = 1_000;

/** Fires when the pending changes or the history change. */
export class LensSignal implements Disposable {
  readonly #changed = new EventEmitter<void>();
  readonly #subscriptions: readonly { dispose(): void }[];
  #timer: NodeJS.Timeout | undefined;

  readonly onDidChangeCodeLenses = this.#changed.event;

  constructor(model: WorkspaceModel) {
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

  dispose(): void {
    clearTimeout(this.#timer);
    for (const subscription of this.#subscriptions) subscription.dispose();
  }
}
