import { Backoff } from "./backoff.js";
import { ConnectError, ConnectionLostError, SnapdError } from "./errors.js";
import { Connection } from "./connection.js";
import { Listeners } from "./listeners.js";
import type { ClientOptions, ConnectionState, Disposable, Logger } from "./options.js";

const FAREWELL_MS = 2000;
const RECONNECT = { firstDelay: 200, longestDelay: 10_000 };

/** Who works over the connections that a supervisor makes. */
export interface Client {
  /** Makes a new connection what the last one was; it is in use when this resolves. */
  introduce(link: Connection): Promise<void>;
  /** The connection must not be used any longer. */
  disconnected(): void;
}

/** Keeps a connection: opens it, reopens it if it is lost, and reports its state. */
export class Supervisor {
  readonly #options: ClientOptions;
  readonly #logger: Logger;
  readonly #client: Client;
  readonly #listeners: Listeners<ConnectionState>;
  readonly #backoff: Backoff | undefined;
  readonly #closing = new AbortController();
  #state: ConnectionState = "connecting";
  /** The connection, while it is ready. */
  #link: Connection | undefined;
  /** The making of a connection, which `close` waits for. */
  #work: Promise<unknown> = Promise.resolve();
  #closed: Promise<void> | undefined;

  constructor(options: ClientOptions, logger: Logger, client: Client) {
    this.#options = options;
    this.#logger = logger;
    this.#client = client;
    this.#listeners = new Listeners(logger);
    const { reconnect = RECONNECT } = options;
    this.#backoff = reconnect === false ? undefined : new Backoff(reconnect);
  }

  get state(): ConnectionState {
    return this.#state;
  }

  onDidChangeState(listener: (state: ConnectionState) => void): Disposable {
    return this.#listeners.add(listener);
  }

  /**
   * Makes the first connection. Where that fails, the supervisor is closed.
   *
   * @throws ConnectError - The connection cannot be made.
   */
  async start(): Promise<void> {
    const { signal } = this.#options;
    const giveUp = (): void => {
      void this.close();
    };
    signal?.addEventListener("abort", giveUp, { once: true });
    try {
      if (signal?.aborted === true) {
        throw new ConnectError("the attempt was given up");
      }
      const connecting = this.#connect();
      this.#work = Promise.allSettled([connecting]);
      await connecting;
    } catch (error) {
      await this.close();
      throw error;
    } finally {
      signal?.removeEventListener("abort", giveUp);
    }
  }

  /** The connection, where it is ready. */
  get ready(): Connection | undefined {
    return this.#link?.isOpen === true ? this.#link : undefined;
  }

  /**
   * Waits for a connection.
   *
   * @throws SnapdError - The signal was aborted.
   * @throws ConnectionLostError - The client is closed.
   */
  untilReady(signal: AbortSignal | undefined): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        const link = this.ready;
        if (signal?.aborted === true) {
          reject(SnapdError.cancelled());
        } else if (this.#state === "closed") {
          reject(new ConnectionLostError("the client is closed"));
        } else if (link !== undefined) {
          resolve(link);
        } else {
          return;
        }
        watch.dispose();
        signal?.removeEventListener("abort", settle);
      };
      const watch = this.#listeners.add(settle);
      signal?.addEventListener("abort", settle, { once: true });
      settle();
    });
  }

  /** Says goodbye to the daemon and stops what was launched. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const link = this.#link;
    this.#disconnect();
    this.#closing.abort();
    await Promise.all([link?.leave(FAREWELL_MS), this.#work]);
    this.#setState("closed");
  }

  async #connect(): Promise<void> {
    const { signal } = this.#closing;
    const link = await Connection.open(this.#options.transport, this.#logger, signal);
    const end = (): void => {
      void link.close();
    };
    signal.addEventListener("abort", end, { once: true });
    try {
      signal.throwIfAborted();
      await this.#client.introduce(link);
      if (!link.isOpen) {
        throw new ConnectionLostError("the connection was lost");
      }
    } catch (error) {
      this.#disconnect();
      throw this.#explained(error, await link.close());
    } finally {
      signal.removeEventListener("abort", end);
    }
    this.#link = link;
    this.#backoff?.up();
    this.#setState("ready");
    void link.ending.then(() => {
      this.#lost(link);
    });
  }

  /** Why a connection was not made, for people. */
  #explained(error: unknown, reason: string | undefined): ConnectError {
    if (this.#closing.signal.aborted) {
      return new ConnectError("the attempt was given up", { cause: error });
    }
    return error instanceof ConnectionLostError
      ? new ConnectError(reason ?? "the daemon closed the connection", { cause: error })
      : new ConnectError(`the daemon refused the connection: ${(error as Error).message}`, { cause: error });
  }

  #disconnect(): void {
    this.#link = undefined;
    this.#client.disconnected();
  }

  #lost(link: Connection): void {
    if (this.#link !== link) {
      return;
    }
    this.#disconnect();
    if (this.#backoff === undefined) {
      this.#work = link.close();
      void this.close();
    } else {
      this.#backoff.down();
      this.#work = this.#reconnect(link, this.#backoff);
      this.#setState("reconnecting");
    }
  }

  async #reconnect(lost: Connection, backoff: Backoff): Promise<void> {
    const { signal } = this.#closing;
    this.#logger.warn(`the connection was lost: ${(await lost.close()) ?? "the daemon closed it"}`);
    while (await backoff.wait(signal)) {
      try {
        await this.#connect();
        this.#logger.info("the connection was made again");
        return;
      } catch (error) {
        if (!signal.aborted) {
          this.#logger.warn((error as Error).message);
        }
      }
    }
  }

  #setState(state: ConnectionState): void {
    if (this.#state !== state) {
      this.#state = state;
      this.#listeners.emit(state);
    }
  }
}
