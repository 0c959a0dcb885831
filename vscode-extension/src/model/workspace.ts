// The models of all open folders.

import type { Disposable } from "@snapd/client";
import type { Connection } from "./connection";
import { pathKey, relativeName } from "./fileUris";
import { FolderModel } from "./folder";
import { type Listen, Signal } from "./signal";

/** An open folder. */
export interface OpenFolder {
  /** As it is sent to the daemon. */
  readonly uri: string;
  /** For people. */
  readonly name: string;
}

/** A file of a folder. */
export interface FileIn {
  readonly folder: FolderModel;
  /** Its name, as requests and changes have it. */
  readonly name: string;
}

/** All open folders; none while there is no connection. */
export class WorkspaceModel implements Disposable {
  readonly #signal = new Signal();
  readonly #reviewSignal = new Signal();
  readonly #commentsSignal = new Signal();
  #connection: Connection | undefined;
  #open: readonly OpenFolder[] = [];
  #folders: readonly FolderModel[] = [];
  #subscriptions = new Map<FolderModel, readonly Disposable[]>();
  /** A sentence for people: why there are no folders, where there are none. */
  absence = "No folder is open.";

  /** The folders, in the order in which they were set. */
  get folders(): readonly FolderModel[] {
    return this.#folders;
  }

  /** Calls the listener after changes of a folder, or of what folders there are. */
  readonly onDidChange: Listen = this.#signal.listen;

  /** The same for what is pending in them. */
  readonly onDidChangeReview: Listen = this.#reviewSignal.listen;

  /** The same for the comments on their files. */
  readonly onDidChangeComments: Listen = this.#commentsSignal.listen;

  /** The folder that a `file:` URI lies in, or is; the innermost one. */
  folderOf(uri: string): FolderModel | undefined {
    const path = pathKey(uri);
    let [found, length] = [undefined as FolderModel | undefined, 0];
    for (const folder of this.#folders) {
      for (const key of [pathKey(folder.id), pathKey(folder.uri)]) {
        const isWithin = path === key || path.startsWith(key === "/" ? key : `${key}/`);
        if (isWithin && key.length > length) [found, length] = [folder, key.length];
      }
    }
    return found;
  }

  /** The file on the disk that a URI names; undefined where it names none, or none in these folders. */
  fileOf(uri: string): FileIn | undefined {
    const folder = uri.startsWith("file:") ? this.folderOf(uri) : undefined;
    const name = folder === undefined ? undefined : relativeName(folder.uri, uri);
    return folder === undefined || name === undefined ? undefined : { folder, name };
  }

  /** Sets which folders are open; those that were stay as they are. */
  setFolders(folders: readonly OpenFolder[]): void {
    this.#open = folders;
    this.#renew(this.#folders);
  }

  /** Sets the connection; a new one means that everything is read again. */
  setConnection(connection: Connection | undefined): void {
    if (connection === this.#connection) return;
    this.#connection = connection;
    this.#renew([]);
  }

  /** Reads everything anew. */
  async refresh(): Promise<void> {
    await Promise.all(this.#folders.map((folder) => folder.refresh()));
  }

  /** Lets go of all folders. */
  dispose(): void {
    this.setConnection(undefined);
  }

  #renew(keep: readonly FolderModel[]): void {
    const connection = this.#connection;
    const folders =
      connection === undefined
        ? []
        : this.#open.map(
            ({ uri, name }) =>
              keep.find((folder) => folder.id === uri && folder.name === name) ??
              new FolderModel(connection, uri, name),
          );
    for (const folder of this.#folders) {
      if (folders.includes(folder)) continue;
      for (const subscription of this.#subscriptions.get(folder) ?? []) subscription.dispose();
      this.#subscriptions.delete(folder);
      folder.dispose();
    }
    for (const folder of folders) {
      if (this.#subscriptions.has(folder)) continue;
      this.#subscriptions.set(folder, [
        folder.onDidChange(() => {
          this.#signal.emit();
        }),
        folder.review.onDidChange(() => {
          this.#reviewSignal.emit();
        }),
        folder.comments.onDidChange(() => {
          this.#commentsSignal.emit();
        }),
      ]);
    }
    this.#folders = folders;
    this.#signal.emit();
    this.#reviewSignal.emit();
    this.#commentsSignal.emit();
  }
}
