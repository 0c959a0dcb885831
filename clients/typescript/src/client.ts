import { type Documents, OpenDocuments } from "./documents.js";
import { SnapdError } from "./errors.js";
import type { FolderNotification } from "./feed.js";
import { Feeds, type Source } from "./feeds.js";
import { initialize, type ServerInfo } from "./introduction.js";
import type { Connection } from "./connection.js";
import { Listeners } from "./listeners.js";
import { logMessage, STDERR } from "./logging.js";
import type {
  ClientOptions,
  ConnectionState,
  Disposable,
  Logger,
  Method,
  NotificationName,
  Params,
  RequestOptions,
  Result,
} from "./options.js";
import type { EventsResult, Notifications, StatusResult } from "./protocol.js";
import { Supervisor } from "./supervisor.js";
import { Configuration } from "./configuration.js";

/**
 * A client of snapd. It restores a lost connection, with the same folders, settings and documents; notifications
 * that it missed are delivered then, each once and in order.
 */
export class SnapdClient implements Disposable {
  /** The documents that an editor has open. */
  readonly documents: Documents;
  readonly #options: ClientOptions;
  readonly #logger: Logger;
  readonly #configuration: Configuration;
  readonly #openDocuments: OpenDocuments;
  readonly #feeds: Feeds;
  readonly #supervisor: Supervisor;
  readonly #resetListeners: Listeners<string>;
  readonly #listeners = new Map<string, Listeners<never>>();
  #serverInfo: ServerInfo | undefined;
  /** The connection, once it is introduced. */
  #link: Connection | undefined;

  /**
   * Connects to the daemon and opens the folders. A folder that the daemon refuses fails the requests that name it.
   *
   * @throws ConnectError - The connection cannot be made.
   */
  static async connect(options: ClientOptions): Promise<SnapdClient> {
    const client = new SnapdClient(options);
    await client.#supervisor.start();
    return client;
  }

  private constructor(options: ClientOptions) {
    this.#options = options;
    this.#logger = options.logger ?? STDERR;
    this.#configuration = new Configuration(options.folders, options.settings ?? {});
    this.#openDocuments = new OpenDocuments((method, params) => this.#link?.notify(method, params));
    this.documents = this.#openDocuments;
    this.#resetListeners = new Listeners(this.#logger);
    this.#feeds = new Feeds(
      {
        deliver: ({ method, params }) => this.#listeners.get(method)?.emit(params as never),
        reset: (folder) => {
          this.#resetListeners.emit(folder);
        },
      },
      this.#logger,
    );
    for (const folder of this.#configuration.folders) {
      this.#feeds.add(folder);
    }
    this.#supervisor = new Supervisor(options, this.#logger, {
      introduce: (link) => this.#introduce(link),
      disconnected: () => {
        this.#link = undefined;
        this.#feeds.disconnect();
      },
    });
  }

  /** How things are with the connection. */
  get state(): ConnectionState {
    return this.#supervisor.state;
  }

  /** What the daemon says it is. */
  get serverInfo(): { name: string; version?: string } | undefined {
    return this.#serverInfo;
  }

  /** The folders that are open, as they were named. */
  get folders(): readonly string[] {
    return this.#configuration.folders;
  }

  /** Subscribes to changes of `state`. */
  onDidChangeState(listener: (state: ConnectionState) => void): Disposable {
    return this.#supervisor.onDidChangeState(listener);
  }

  /** Subscribes to a notification: each once and in order. Its `workspaceUri` is the client's name of the folder. */
  onNotification<N extends NotificationName>(method: N, listener: (params: Notifications[N]) => void): Disposable {
    let listeners = this.#listeners.get(method);
    if (listeners === undefined) {
      listeners = new Listeners<never>(this.#logger);
      this.#listeners.set(method, listeners);
    }
    return listeners.add(listener);
  }

  /** Subscribes to resets: a folder missed notifications that cannot be recovered, so everything must be read again. */
  onReset(listener: (workspaceUri: string) => void): Disposable {
    return this.#resetListeners.add(listener);
  }

  /**
   * Sends a request. While the connection is being made again, it waits.
   *
   * One that was cancelled may have been done all the same; then its result is given.
   *
   * @throws SnapdError - The daemon answered with an error; code -32800 where the request was cancelled.
   * @throws ConnectionLostError - The connection ended before the answer came, or the client is closed.
   */
  async request<M extends Method>(method: M, params: Params<M>, options: RequestOptions = {}): Promise<Result<M>> {
    if (options.signal?.aborted === true) {
      throw SnapdError.cancelled();
    }
    // without a wait what is sent stays in the order of the calls
    const link = this.#supervisor.ready ?? (await this.#supervisor.untilReady(options.signal));
    return (await link.request(method, params, options)) as Result<M>;
  }

  /**
   * Opens and closes folders. Resolves when the notifications of those that were added have begun: what is asked after
   * that, and later notifications, leave nothing out.
   */
  async changeFolders(added: readonly string[], removed: readonly string[]): Promise<void> {
    const event = this.#configuration.changeFolders(added, removed);
    for (const folder of event.removed) {
      this.#feeds.remove(folder);
    }
    for (const folder of event.added) {
      this.#feeds.add(folder);
    }
    const link = this.#link;
    if (link !== undefined) {
      this.#configuration.sendChanges(link);
      await this.#feeds.connect(sourceOf(link), event.added);
    }
  }

  /** Changes settings of the daemon for this client; those that are not named, or null, stay as they are. */
  changeSettings(settings: Record<string, unknown>): Promise<void> {
    this.#configuration.changeSettings(settings);
    if (this.#link !== undefined) {
      this.#configuration.sendChanges(this.#link);
    }
    return Promise.resolve();
  }

  /** Takes leave of the daemon and closes the connection. A command that was launched has ended when this resolves. */
  close(): Promise<void> {
    return this.#supervisor.close();
  }

  /** Closes the client without waiting for it. */
  dispose(): void {
    void this.close();
  }

  async #introduce(link: Connection): Promise<void> {
    link.listen((method, params) => {
      if (isOfFolder(params)) {
        this.#feeds.receive({ method, params });
      } else {
        logMessage(this.#logger, method, params);
      }
    });
    this.#serverInfo = await initialize(link, this.#options, this.#configuration);
    this.#link = link;
    this.#configuration.sendChanges(link);
    this.#openDocuments.resend();
    await this.#feeds.connect(sourceOf(link), this.folders);
  }
}

function sourceOf(link: Connection): Source {
  return {
    status: async (workspaceUri) => (await link.request("snapshot/status", { workspaceUri })) as StatusResult,
    events: async (workspaceUri, since) =>
      (await link.request("snapshot/events", { workspaceUri, since })) as EventsResult,
  };
}

function isOfFolder(params: unknown): params is FolderNotification["params"] {
  return (
    typeof params === "object" &&
    params !== null &&
    "workspaceUri" in params &&
    typeof params.workspaceUri === "string" &&
    "seq" in params &&
    typeof params.seq === "number"
  );
}
