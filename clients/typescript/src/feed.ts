import { ConnectionLostError } from "./errors.js";
import type { EventsResult, NotificationParams } from "./protocol.js";

/** A notification that belongs to a folder. */
export interface FolderNotification {
  method: string;
  params: NotificationParams;
}

/** The receiver of a feed. */
export interface Audience {
  /** The next notification. */
  deliver(notification: FolderNotification): void;
  /** Some notifications are lost. */
  reset(): void;
}

/** Asks for the notifications after a number. */
export type Ask = (since: number) => Promise<EventsResult>;

/** No daemon gives out this number, so that the answer tells the last one alone. */
const NEVER_GIVEN_OUT = Number.MAX_SAFE_INTEGER;

/**
 * The notifications of one folder: each of them once and in order, over any number of connections.
 *
 * What arrives while something is being asked for waits for the answer.
 */
export class Feed {
  readonly #audience: Audience;
  /** The number of the last one that was delivered. */
  #known: number | undefined;
  #waiting: FolderNotification[] | undefined = [];
  /** Whether something may have been delivered. */
  #begun = false;
  #ask: Ask | undefined;
  /** Grows when answers to what was asked before no longer count. */
  #round = 0;

  constructor(audience: Audience) {
    this.#audience = audience;
  }

  /** The connection is gone; missed notifications are read again over the next one. */
  disconnect(): void {
    this.#round += 1;
    this.#ask = undefined;
    this.#waiting = [];
  }

  /** There is a connection: the first one says where to begin, a later one what was missed. */
  async connect(ask: Ask): Promise<void> {
    this.#ask = ask;
    await this.#catchUp(ask);
  }

  /** There is a connection, but nothing can be asked of this folder. */
  refuse(): void {
    this.#round += 1;
    this.#forget(this.#round);
  }

  /** A notification arrived. */
  receive(notification: FolderNotification): void {
    if (this.#waiting !== undefined) {
      this.#waiting.push(notification);
      return;
    }
    const { seq } = notification.params;
    if (this.#known === undefined || seq === this.#known + 1) {
      this.#deliver(notification);
    } else if (seq > this.#known) {
      this.#waiting = [notification];
      if (this.#ask !== undefined) {
        void this.#catchUp(this.#ask);
      }
    }
  }

  async #catchUp(ask: Ask): Promise<void> {
    const round = ++this.#round;
    do {
      const expected = this.#waiting?.[0]?.params.seq;
      let answer: EventsResult;
      try {
        answer = await ask(this.#known ?? NEVER_GIVEN_OUT);
      } catch (error) {
        if (round === this.#round && !(error instanceof ConnectionLostError)) {
          this.#forget(round);
        }
        return;
      }
      if (round !== this.#round) {
        return;
      }
      this.#take(answer, expected, round);
    } while (round === this.#round && !this.#release(round));
  }

  /** Takes over what was missed. */
  #take({ events, latest }: EventsResult, expected: number | undefined, round: number): void {
    // a daemon that knows fewer than it has sent would be asked forever
    if (events === undefined || (expected !== undefined && latest < expected)) {
      this.#known = expected !== undefined && latest < expected ? expected - 1 : latest;
      this.#reset();
      return;
    }
    for (const notification of events) {
      if (round !== this.#round) {
        return;
      }
      this.#deliver(notification);
    }
    if (round === this.#round) {
      this.#known = latest;
    }
  }

  /** Delivers what waits, up to where something is missing; says whether that was all. */
  #release(round: number): boolean {
    for (;;) {
      const next = this.#waiting?.[0];
      if (next === undefined) {
        this.#waiting = undefined;
        return true;
      }
      const { seq } = next.params;
      if (this.#known !== undefined && seq > this.#known + 1) {
        return false;
      }
      this.#waiting?.shift();
      if (this.#known === undefined || seq > this.#known) {
        this.#deliver(next);
        if (round !== this.#round) {
          return true;
        }
      }
    }
  }

  /** The next notification does not continue the earlier ones. */
  #forget(round: number): void {
    this.#known = undefined;
    this.#reset();
    if (round === this.#round) {
      this.#release(round);
    }
  }

  #deliver(notification: FolderNotification): void {
    this.#known = notification.params.seq;
    this.#audience.deliver(notification);
  }

  #reset(): void {
    if (this.#begun) {
      this.#audience.reset();
    }
    this.#begun = true;
  }
}
