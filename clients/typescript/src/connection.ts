import {
  CancellationTokenSource,
  createMessageConnection,
  ErrorCodes,
  type Logger as ConnectionLogger,
  type Message,
  type MessageConnection,
  ProgressType,
  ResponseError,
} from "vscode-jsonrpc/node.js";
import { type Channel, openChannel } from "./channel.js";
import { ConnectionLostError, SnapdError } from "./errors.js";
import type { Address, Launch, Logger, RequestOptions, RequestProgress } from "./options.js";
import { Reader, Writer } from "./streams.js";
import { within } from "./time.js";

interface ProgressValue extends RequestProgress {
  kind: "begin" | "report" | "end";
}

const PROGRESS = new ProgressType<ProgressValue>();

let lastToken = 0;

/** One connection, from its beginning to its end. */
export class Connection {
  readonly #connection: MessageConnection;
  readonly #channel: Channel;
  readonly #reader: Reader;
  readonly #onDidEnd: () => void;
  readonly #ending: Promise<void>;
  #ended: Promise<string | undefined> | undefined;

  /**
   * Opens a connection.
   *
   * @throws ConnectError - It cannot be made.
   */
  static async open(transport: Launch | Address, logger: Logger, signal: AbortSignal): Promise<Connection> {
    return new Connection(await openChannel(transport, logger, signal), logger);
  }

  private constructor(channel: Channel, logger: Logger) {
    this.#channel = channel;
    let onDidEnd = (): void => undefined;
    this.#ending = new Promise((resolve) => (onDidEnd = resolve));
    this.#onDidEnd = onDidEnd;
    this.#reader = new Reader(channel.readable);
    const handled = (message: Message, handle: (message: Message) => void): void => {
      handle(message);
      this.#reader.handled();
    };
    this.#connection = createMessageConnection(this.#reader, new Writer(channel.writable), asTheirs(logger), {
      messageStrategy: { handleMessage: handled },
    });
    this.#connection.onError(([error]) => {
      logger.debug(`the connection failed: ${error.message}`);
      void this.close();
    });
    this.#connection.onClose(() => void this.close());
  }

  /** Whether the connection has not ended yet. */
  get isOpen(): boolean {
    return this.#ended === undefined;
  }

  /** Resolves as soon as the connection has ended. */
  get ending(): Promise<void> {
    return this.#ending;
  }

  /** Begins to read. */
  listen(onReceived: (method: string, params: unknown) => void): void {
    this.#connection.onNotification(onReceived);
    this.#connection.listen();
  }

  /**
   * Sends a request.
   *
   * @throws SnapdError - The daemon answered with an error.
   * @throws ConnectionLostError - The connection ended before the answer came.
   */
  async request(method: string, params?: object, { signal, onProgress }: RequestOptions = {}): Promise<unknown> {
    if (!this.isOpen) {
      throw ConnectionLostError.during(method, params);
    }
    const cancellation = new CancellationTokenSource();
    const cancel = (): void => {
      if (this.isOpen) {
        cancellation.cancel();
      }
    };
    signal?.addEventListener("abort", cancel, { once: true });
    const token = `snapd-client-${String(++lastToken)}`;
    const progress = onProgress && this.#connection.onProgress(PROGRESS, token, reporting(onProgress));
    const sent = progress === undefined ? params : { ...params, workDoneToken: token };
    try {
      return await this.#connection.sendRequest(method, ...(sent === undefined ? [] : [sent]), cancellation.token);
    } catch (error) {
      if (error instanceof ResponseError && error.code !== (ErrorCodes.PendingResponseRejected as number)) {
        throw new SnapdError(error.message, error.code, error.data);
      }
      throw ConnectionLostError.during(method, params, error);
    } finally {
      signal?.removeEventListener("abort", cancel);
      progress?.dispose();
      cancellation.dispose();
    }
  }

  /** Sends a notification; does nothing where the connection has ended. */
  notify(method: string, params?: object): void {
    if (this.isOpen) {
      void this.#connection.sendNotification(method, params);
    }
  }

  /** Says `shutdown` and `exit`, waiting so many milliseconds for the daemon, and closes the connection. */
  async leave(milliseconds: number): Promise<void> {
    const shutdown = this.request("shutdown");
    // what the daemon says to it changes nothing
    await within(milliseconds, Promise.allSettled([shutdown]));
    this.notify("exit");
    await this.close();
  }

  /**
   * Ends the connection. Requests under way reject, but for those whose answers have come. A command that was launched
   * has ended when this resolves.
   *
   * @returns Why the connection ended, where that is known.
   */
  close(): Promise<string | undefined> {
    if (this.#ended === undefined) {
      this.#ended = this.#end();
      this.#onDidEnd();
    }
    return this.#ended;
  }

  async #end(): Promise<string | undefined> {
    await this.#reader.settle();
    this.#connection.dispose();
    return this.#channel.close();
  }
}

function reporting(onProgress: (progress: RequestProgress) => void): (value: ProgressValue) => void {
  return ({ kind, message, percentage }) => {
    if (kind !== "end") {
      onProgress({ ...(message !== undefined && { message }), ...(percentage !== undefined && { percentage }) });
    }
  };
}

function asTheirs(logger: Logger): ConnectionLogger {
  return {
    error: (message) => {
      logger.error(message);
    },
    warn: (message) => {
      logger.warn(message);
    },
    info: (message) => {
      logger.info(message);
    },
    log: (message) => {
      logger.debug(message);
    },
  };
}
