// What pending changes are compared with. It changes while editors show it.

import { lstat, readFile, readlink } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Disposable, PendingFile, ReviewFileResult } from "@snapd/client";
import { changeNamed, requestName } from "../model/changes";
import { fileUri } from "../model/fileUris";
import type { FolderModel } from "../model/folder";
import type { ReviewModel } from "../model/review";
import { textBytes } from "./contents";
import { opaqueBaseline } from "./opaqueBaselines";
import { type Place, documentUri, nameNow } from "./uris";

const LINK = "120000";

/** What this needs of a folder. */
export interface Folder extends Pick<FolderModel, "uri" | "request"> {
  readonly review: Pick<ReviewModel, "file" | "files" | "isComplete" | "onDidChange">;
}

/** The bytes of a baseline. */
export interface Baseline {
  readonly bytes: Uint8Array;
  /** Another number where the bytes are others, and a larger one. */
  readonly version: number;
}

interface Known extends Baseline {
  /** As the file is called now. */
  readonly name: string;
  /** The `id` of the pending changes; undefined where there were none. */
  readonly id: string | undefined;
}

/** The baseline of a file, to be shown beside it. */
export function baselinePlace(folder: string, file: Pick<PendingFile, "file" | "uri" | "renamedFrom">): Place {
  const name = requestName(file);
  return { folder, hash: "", file: file.renamedFrom ?? name, baseline: name };
}

/** Whether a file is a symbolic link, or was one. */
export function isLink({ oldMode, newMode }: ReviewFileResult): boolean {
  return oldMode === LINK || newMode === LINK;
}

/** Reads baselines, and notifies when one of them changes. */
export class Baselines implements Disposable {
  readonly #folder: (uri: string) => Promise<Folder>;
  /** By the URIs of their documents. */
  readonly #known = new Map<Folder, Map<string, Known>>();
  readonly #subscriptions: Disposable[] = [];
  readonly #listeners = new Set<(uris: readonly string[]) => void>();

  /**
   * @param folder - finds a folder by its URI; rejects where it is not open.
   */
  constructor(folder: (uri: string) => Promise<Folder>) {
    this.#folder = folder;
  }

  /** Calls the listener with the URIs of documents that may be others by now. */
  onDidChange(listener: (uris: readonly string[]) => void): void {
    this.#listeners.add(listener);
  }

  /**
   * The baseline of a file: where nothing is pending, that is the file itself.
   *
   * @throws SnapdError, ConnectionLostError: see `SnapdClient.request`. Error: it is not text, and no snapshot has it.
   */
  async read(place: Place): Promise<Baseline> {
    const folder = await this.#folder(place.folder);
    const known = this.#of(folder);
    const uri = documentUri(place);
    const name = nameNow(place);
    const found = await folder.review.file(name);
    const before = known.get(uri);
    // what is not text may be large, and takes a while to find
    if (before?.id !== undefined && before.id === found?.id) return before;
    const bytes = await bytesOf(folder, name, found);
    const isSame = before !== undefined && Buffer.compare(before.bytes, bytes) === 0;
    const version =
      before === undefined ? Date.now() : isSame ? before.version : Math.max(Date.now(), before.version + 1);
    known.set(uri, { bytes, version, name, id: found?.id });
    return { bytes, version };
  }

  dispose(): void {
    for (const subscription of this.#subscriptions) subscription.dispose();
    this.#listeners.clear();
  }

  #of(folder: Folder): Map<string, Known> {
    const known = this.#known.get(folder);
    if (known !== undefined) return known;
    const made = new Map<string, Known>();
    this.#known.set(folder, made);
    this.#subscriptions.push(
      folder.review.onDidChange(() => {
        this.#report(folder, made);
      }),
    );
    return made;
  }

  #report(folder: Folder, known: ReadonlyMap<string, Known>): void {
    const ids = new Map(folder.review.files.map((file) => [requestName(file), file.id]));
    // one of a file without pending changes moves with the file
    const stale = [...known].filter(([, { name, id }]) => id === undefined || ids.get(name) !== id);
    if (stale.length > 0) for (const listener of this.#listeners) listener(stale.map(([uri]) => uri));
  }
}

async function bytesOf(folder: Folder, name: string, found: ReviewFileResult | undefined): Promise<Uint8Array> {
  if (found === undefined) return onDisk(folder.uri, name);
  if (found.status === "added") return new Uint8Array();
  if (hasTexts(found)) return textBytes(found.before, found.encoding);
  return (await opaqueBaseline(folder, name)) ?? onDisk(folder.uri, name);
}

/** Whether the texts of both sides are available: not if binary, large or a symbolic link. */
function hasTexts(found: ReviewFileResult): boolean {
  return !found.binary && found.tooLarge !== true && !isLink(found);
}

async function onDisk(folder: string, name: string): Promise<Uint8Array> {
  try {
    const path = fileURLToPath(fileUri(folder, changeNamed(name)));
    // as snapshots have it, a symbolic link is its target's name
    const isLinkNow = (await lstat(path)).isSymbolicLink();
    return isLinkNow ? await readlink(path, { encoding: "buffer" }) : await readFile(path);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return new Uint8Array();
    throw error;
  }
}
