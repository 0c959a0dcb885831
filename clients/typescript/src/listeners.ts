import type { Disposable, Logger } from "./options.js";

/** Those who want to be told of something. One that throws does not keep the others from being told. */
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

  tell(value: T): void {
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
