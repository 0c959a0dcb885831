// The read-only file system of the scheme "snapd".

import {
  Disposable,
  EventEmitter,
  FilePermission,
  type FileStat,
  FileSystemError,
  type FileSystemProvider,
  FileType,
  type Uri,
} from "vscode";
import type { Contents } from "./contents";
import { type Place, placeOf } from "./uris";

/** Shows files as snapshots have them. */
export class SnapshotFileSystem implements FileSystemProvider {
  readonly #contents: Contents;
  readonly #changed = new EventEmitter<[]>();

  /** Never told: a snapshot does not change. */
  readonly onDidChangeFile = this.#changed.event;

  constructor(contents: Contents) {
    this.#contents = contents;
  }

  watch(): Disposable {
    return new Disposable(() => undefined);
  }

  async stat(uri: Uri): Promise<FileStat> {
    const { byteLength } = await this.readFile(uri);
    return { type: FileType.File, ctime: 0, mtime: 0, size: byteLength, permissions: FilePermission.Readonly };
  }

  async readFile(uri: Uri): Promise<Uint8Array> {
    const place = meant(uri);
    try {
      return await this.#contents.read(place);
    } catch (error) {
      // an editor that is told FileNotFound keeps the reason to itself
      throw FileSystemError.Unavailable(error instanceof Error ? error.message : String(error));
    }
  }

  readDirectory(uri: Uri): never {
    throw FileSystemError.FileNotADirectory(uri);
  }

  createDirectory(uri: Uri): never {
    throw FileSystemError.NoPermissions(uri);
  }

  writeFile(uri: Uri): never {
    throw FileSystemError.NoPermissions(uri);
  }

  delete(uri: Uri): never {
    throw FileSystemError.NoPermissions(uri);
  }

  rename(uri: Uri): never {
    throw FileSystemError.NoPermissions(uri);
  }
}

function meant(uri: Uri): Place {
  const place = placeOf(uri.toString());
  if (place === undefined) throw FileSystemError.FileNotFound(uri);
  return place;
}
