import { type Audience, Feed, type FolderNotification } from "./feed.js";
import type { Logger } from "./options.js";
import type { EventsResult, StatusResult } from "./protocol.js";

/** What the feeds ask of a connection. */
export interface Source {
  status(folder: string): Promise<StatusResult>;
  events(folder: string, since: number): Promise<EventsResult>;
}

/** The receiver of the feeds: it gets each notification and each reset under the client's name for the folder. */
export interface FolderAudience {
  deliver(notification: FolderNotification): void;
  reset(folder: string): void;
}

interface Entry {
  readonly feed: Feed;
  /** How the daemon calls the folder, once it is known: a client may come by a symlink. */
  daemonUri: string | undefined;
}

/** The feeds of all folders that are open, and to which of them a notification belongs. */
export class Feeds {
  readonly #audience: FolderAudience;
  readonly #logger: Logger;
  readonly #entries = new Map<string, Entry>();
  #source: Source | undefined;
  /** Notifications of folders whose names are being asked for. */
  #unclaimed: FolderNotification[] = [];
  #asking = 0;

  constructor(audience: FolderAudience, logger: Logger) {
    this.#audience = audience;
    this.#logger = logger;
  }

  /** Takes in a folder; `connect` begins its feed. */
  add(folder: string): void {
    const audience: Audience = {
      deliver: ({ method, params }) => {
        this.#audience.deliver({ method, params: { ...params, workspaceUri: folder } });
      },
      reset: () => {
        this.#audience.reset(folder);
      },
    };
    this.#entries.set(folder, { feed: new Feed(audience), daemonUri: undefined });
  }

  /** Removes a folder: its notifications are no longer delivered. */
  remove(folder: string): void {
    this.#entries.get(folder)?.feed.disconnect();
    this.#entries.delete(folder);
  }

  /** The connection was lost. */
  disconnect(): void {
    this.#source = undefined;
    this.#unclaimed = [];
    for (const entry of this.#entries.values()) {
      entry.feed.disconnect();
      entry.daemonUri = undefined;
    }
  }

  /** Resumes these folders over a connection, from where they stopped. Resolves when nothing is missing. */
  async connect(source: Source, folders: readonly string[]): Promise<void> {
    this.#source = source;
    await Promise.all(
      folders.map(async (folder) => {
        const entry = this.#entries.get(folder);
        if (entry === undefined) {
          return;
        }
        if (await this.#identify(source, folder, entry)) {
          await entry.feed.connect((since) => source.events(folder, since));
        } else if (this.#isCurrent(source, folder, entry)) {
          entry.feed.refuse();
        }
      }),
    );
  }

  /** A notification arrived. */
  receive(notification: FolderNotification): void {
    const { workspaceUri } = notification.params;
    let claimed = false;
    for (const entry of this.#entries.values()) {
      if (entry.daemonUri === workspaceUri) {
        claimed = true;
        entry.feed.receive(notification);
      }
    }
    if (!claimed) {
      this.#hold(notification);
    }
  }

  #hold(notification: FolderNotification): void {
    this.#unclaimed.push(notification);
    if (this.#asking > 0) {
      return;
    }
    // a folder that was refused may have been opened by a later request
    for (const [folder, entry] of this.#entries) {
      if (entry.daemonUri === undefined && this.#source !== undefined) {
        void this.#identify(this.#source, folder, entry);
      }
    }
    this.#dropUnclaimed();
  }

  /** Asks for the daemon's name of a folder; returns whether it answered. */
  async #identify(source: Source, folder: string, entry: Entry): Promise<boolean> {
    this.#asking += 1;
    try {
      const { workspaceUri } = await source.status(folder);
      if (!this.#isCurrent(source, folder, entry)) {
        return false;
      }
      entry.daemonUri = workspaceUri;
      for (const notification of this.#unclaimed.filter(({ params }) => params.workspaceUri === workspaceUri)) {
        entry.feed.receive(notification);
      }
      return true;
    } catch (error) {
      this.#logger.info(`${folder}: nothing is told of it: ${(error as Error).message}`);
      return false;
    } finally {
      this.#asking -= 1;
      this.#dropUnclaimed();
    }
  }

  #isCurrent(source: Source, folder: string, entry: Entry): boolean {
    return this.#source === source && this.#entries.get(folder) === entry;
  }

  #dropUnclaimed(): void {
    if (this.#asking === 0) {
      this.#unclaimed = [];
    }
  }
}
