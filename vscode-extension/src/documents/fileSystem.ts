// The read-only file system of the scheme "snapd".

import {
  Disposable,
  EventEmitter,
  type FileChangeEvent,
  FileChangeType,
  FilePermission,
  type FileStat,
  FileSystemError,
  type FileSystemProvider,
  FileType,
  Uri,
} from "vscode";
import type { Baselines } from "./baselines";
import type { Contents } from "./contents";
import { type Place, placeOf } from "./uris";

/** Shows files as snapshots have them, and the baselines of files. */
export class SnapshotFileSystem implements FileSystemProvider {
  readonly #contents: Contents;
  readonly #baselines: Baselines;
  readonly #changed = new EventEmitter<FileChangeEvent[]>();

  /** Fires only for baselines: a snapshot does not change. */
  readonly onDidChangeFile = this.#changed.event;

  constructor(contents: Contents, baselines: Baselines) {
    this.#contents = contents;
    this.#baselines = baselines;
    baselines.onDidChange((uris) => {
      this.#changed.fire(uris.map((uri) => ({ type: FileChangeType.Changed, uri: Uri.parse(uri, true) })));
    });
  }

  watch(): Disposable {
    return new Disposable(() => undefined);
  }

  async stat(uri: Uri): Promise<FileStat> {
    const { bytes, version } = await this.#read(uri);
    const size = bytes.byteLength;
    return { type: FileType.File, ctime: 0, mtime: version, size, permissions: FilePermission.Readonly };
  }

  async readFile(uri: Uri): Promise<Uint8Array> {
    return (await this.#read(uri)).bytes;
  }

  /** @returns the bytes, and a time by which VS Code sees that they are others. */
  async #read(uri: Uri): Promise<{ readonly bytes: Uint8Array; readonly version: number }> {
    const place = placeIn(uri);
    try {
      if (place.baseline !== undefined) return await this.#baselines.read(place);
      return { bytes: await this.#contents.read(place), version: 0 };
    } catch (error) {
      // after FileNotFound, an editor does not show the reason
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

function placeIn(uri: Uri): Place {
  const place = placeOf(uri.toString());
  if (place === undefined) throw FileSystemError.FileNotFound(uri);
  return place;
}
