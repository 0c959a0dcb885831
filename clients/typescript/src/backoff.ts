import { setTimeout as delay } from "node:timers/promises";
import type { Reconnect } from "./options.js";

/** How long to wait before each attempt to connect again. */
export class Backoff {
  readonly #first: number;
  readonly #longest: number;
  #next: number;
  #upSince: number | undefined;

  constructor({ firstDelay, longestDelay }: Reconnect) {
    this.#first = firstDelay;
    this.#longest = longestDelay;
    this.#next = firstDelay;
  }

  /** The connection is open. */
  up(): void {
    this.#upSince = performance.now();
  }

  /** It was lost. One that lasted begins anew; a daemon that ends at once, each time, is left alone for longer. */
  down(): void {
    if (this.#upSince !== undefined && performance.now() - this.#upSince >= this.#longest) {
      this.#next = this.#first;
    }
    this.#upSince = undefined;
  }

  /** Waits until the next attempt is due; gives false where the signal is aborted. */
  async wait(signal: AbortSignal): Promise<boolean> {
    const due = this.#next;
    this.#next = Math.min(due * 2, this.#longest);
    try {
      await delay(due, undefined, { signal });
    } catch {
      // the signal is the only reason
      return false;
    }
    return !signal.aborted;
  }
}
