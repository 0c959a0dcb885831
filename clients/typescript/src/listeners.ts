import type { Disposable, Logger } from "./options.js";

/** Listeners of an event. One that throws does not prevent calls of the others. */
export class Listeners<T> {
  readonly #listeners = new Set<{ listener: (value: T) => void }>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  add(listener: (value: T) => void): Disposable {
    const entry = { listener };
    this.#listeners.add(entry);
    return { dispose: () => this.#listeners.delete(entry) };
  }

  emit(value: T): void {
    for (const entry of [...this.#listeners]) {
      if (!this.#listeners.has(entry)) {
        continue;
      }
      try {
        entry.listener(value);
      } catch (error) {
        this.#logger.error(
          `a listener failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
        );
      }
    }
  }
}
