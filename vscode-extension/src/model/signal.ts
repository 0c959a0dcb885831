// Notifies listeners of a change.

import type { Disposable } from "@snapd/client";

/** What can be listened to. */
export type Listen = (listener: () => void) => Disposable;

/** Something that changes, and those who want to know. */
export class Signal {
  readonly #listeners = new Set<{ readonly emit: () => void }>();

  /** Calls the listener after each change, until what it returns is disposed. */
  readonly listen: Listen = (listener) => {
    const entry = { emit: listener };
    this.#listeners.add(entry);
    return { dispose: () => this.#listeners.delete(entry) };
  };

  /** Calls every listener. */
  emit(): void {
    for (const entry of [...this.#listeners]) entry.emit();
  }
}
