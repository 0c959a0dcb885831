import { workspaceFolder } from "./introduction.js";
import type { Connection } from "./connection.js";

/** Which folders were added and which removed. */
export interface FoldersChange {
  added: string[];
  removed: string[];
}

/** The folders and settings of a client, and which of them this connection has not sent yet. */
export class Configuration {
  #folders: readonly string[];
  #settings: Readonly<Record<string, unknown>>;
  /** In the order of events, because a folder may be removed and added again. */
  #changes: FoldersChange[] = [];
  #newSettings: Record<string, unknown> = {};

  constructor(folders: readonly string[], settings: Record<string, unknown>) {
    this.#folders = [...new Set(folders)];
    this.#settings = withoutNulls(settings);
  }

  get folders(): readonly string[] {
    return this.#folders;
  }

  /** Adds and removes folders, and returns what that changes. */
  changeFolders(added: readonly string[], removed: readonly string[]): FoldersChange {
    const gone = this.#folders.filter((folder) => removed.includes(folder));
    const kept = this.#folders.filter((folder) => !removed.includes(folder));
    const fresh = [...new Set(added)].filter((folder) => !kept.includes(folder));
    this.#folders = [...kept, ...fresh];
    const change = { added: fresh, removed: gone };
    this.#changes.push(change);
    return change;
  }

  /** Changes some settings; null stands for no change, as it does for the daemon. */
  changeSettings(settings: Record<string, unknown>): void {
    const changed = withoutNulls(settings);
    this.#settings = { ...this.#settings, ...changed };
    this.#newSettings = { ...this.#newSettings, ...changed };
  }

  /** All of it, for `initialize` on a new connection: from then on, only changes are sent. */
  takeAll(): { folders: readonly string[]; settings: Readonly<Record<string, unknown>> } {
    this.#changes = [];
    this.#newSettings = {};
    return { folders: this.#folders, settings: this.#settings };
  }

  /** Sends the daemon what has changed since. */
  sendChanges(link: Connection): void {
    for (const { added, removed } of this.#changes) {
      if (added.length > 0 || removed.length > 0) {
        const event = { added: added.map(workspaceFolder), removed: removed.map(workspaceFolder) };
        link.notify("workspace/didChangeWorkspaceFolders", { event });
      }
    }
    this.#changes = [];
    if (Object.keys(this.#newSettings).length > 0) {
      link.notify("workspace/didChangeConfiguration", { settings: this.#newSettings });
      this.#newSettings = {};
    }
  }
}

function withoutNulls(settings: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== null && value !== undefined));
}
