// Does a piece of work when asked, and not more often than makes sense.

/**
 * Runs work at once when asked, but never twice at the same time, and with a pause between: what is asked for meanwhile
 * is done in one run.
 */
export class Coalesced {
  readonly #work: () => Promise<void>;
  readonly #pause: number;
  #waiting: PromiseWithResolvers | undefined;
  #timer: NodeJS.Timeout | undefined;
  #running = false;
  #disposed = false;

  /**
   * @param work - what is done; it must not reject.
   * @param pause - milliseconds from the end of a run to the next.
   */
  constructor(work: () => Promise<void>, pause: number) {
    this.#work = work;
    this.#pause = pause;
  }

  /** Resolves when a run has ended that began after this was called; never, once disposed. */
  ask(): Promise<void> {
    this.#waiting ??= withResolvers();
    const { promise } = this.#waiting;
    if (!this.#running && this.#timer === undefined) void this.#run();
    return promise;
  }

  /** Starts no more runs. */
  dispose(): void {
    this.#disposed = true;
    clearTimeout(this.#timer);
  }

  async #run(): Promise<void> {
    const asked = this.#waiting;
    if (this.#disposed || asked === undefined) return;
    this.#waiting = undefined;
    this.#running = true;
    await this.#work();
    this.#running = false;
    asked.resolve();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#run();
    }, this.#pause);
  }
}

interface PromiseWithResolvers {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}

function withResolvers(): PromiseWithResolvers {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
