// The bytes of the read-only documents.

import { createHash } from "node:crypto";
import type { Entry, FileAtResult, FileDiff, Params } from "@snapd/client";
import { requestName } from "../model/changes";
import type { FolderModel } from "../model/folder";
import { pages } from "../model/paging";
import type { Place } from "./uris";

/** Entries that are asked for at once. */
const PAGE = 50;
const KEPT_BYTES = 32 * 1024 * 1024;

/** What is asked of a folder. */
export type RequestSource = Pick<FolderModel, "request">;

/** Reads documents, and keeps the latest of them: a snapshot never changes. */
export class Contents {
  readonly #folder: (uri: string) => Promise<RequestSource>;
  readonly #kept = new Map<string, Promise<Uint8Array>>();
  readonly #sizes = new Map<string, number>();

  /**
   * @param folder - finds a folder by its URI; rejects where it is not open.
   */
  constructor(folder: (uri: string) => Promise<RequestSource>) {
    this.#folder = folder;
  }

  /**
   * The bytes of a document.
   *
   * @throws SnapdError, ConnectionLostError: see `SnapdClient.request`. GoneError: the step no longer has it.
   */
  read(place: Place): Promise<Uint8Array> {
    if (place.hash === "") return Promise.resolve(new Uint8Array());
    const { folder, hash, file, stepId, side, own, messageId, print } = place;
    const alone = own === undefined ? [] : [stepId ?? null, messageId ?? null, print ?? null, side, own];
    const key = JSON.stringify([folder, hash, file, ...alone]);
    const known = this.#kept.get(key);
    if (known !== undefined) {
      // the one that was used last goes last
      this.#kept.delete(key);
      this.#kept.set(key, known);
      return known;
    }
    const reading = this.#ask(place);
    this.#kept.set(key, reading);
    reading.then(
      ({ byteLength }) => {
        this.#sizes.set(key, byteLength);
        this.#shrink();
      },
      // a failed request is repeated the next time
      () => this.#kept.delete(key),
    );
    return reading;
  }

  async #ask(place: Place): Promise<Uint8Array> {
    const folder = await this.#folder(place.folder);
    const { hash, file, stepId, side, own, messageId, print } = place;
    const asked = stepId !== undefined ? { stepId } : messageId !== undefined ? { messageId } : undefined;
    if (own === undefined || asked === undefined || side === undefined) {
      return bytesOf(await folder.request("snapshot/fileAt", { hash, file }));
    }
    for await (const diff of ownDiffs(folder, { sessionId: own, ...asked, contents: true })) {
      if (requestName(diff) !== file) continue;
      if (print === undefined || print === printOf(diff)) return textBytes(diff[side], diff.encoding);
      break;
    }
    throw new GoneError(
      stepId === undefined
        ? `the turn has other changes of ${file} by now, or none: open its changes anew`
        : `the step no longer has changes to ${file}: it was undone, or the changes are gone`,
    );
  }

  #shrink(): void {
    let total = 0;
    for (const size of this.#sizes.values()) total += size;
    for (const key of [...this.#kept.keys()]) {
      if (total <= KEPT_BYTES) return;
      total -= this.#sizes.get(key) ?? 0;
      this.#sizes.delete(key);
      this.#kept.delete(key);
    }
  }
}

/** A step or a turn no longer has its changes to a file. */
export class GoneError extends Error {
  override readonly name = "GoneError";
}

/** The same for the same change of a file. */
export function printOf({ status, binary, encoding, before, after }: FileDiff): string {
  return createHash("sha256")
    .update(JSON.stringify([status, binary, encoding, before, after]))
    .digest("hex");
}

/** What the applied steps of a session changed themselves, all pages of it. */
export async function* ownDiffs(
  folder: RequestSource,
  params: Omit<Params<"session/diff">, "workspaceUri">,
): AsyncGenerator<FileDiff> {
  for await (const { diffs } of pages((cursor) => folder.request("session/diff", { ...params, ...cursor }))) {
    yield* diffs;
  }
}

/** What differs between two snapshots, all pages of it. */
export async function* treeDiffs(
  folder: RequestSource,
  params: Omit<Params<"snapshot/diffFull">, "workspaceUri">,
): AsyncGenerator<FileDiff> {
  for await (const { diffs } of pages((cursor) => folder.request("snapshot/diffFull", { ...params, ...cursor }))) {
    yield* diffs;
  }
}

/** What happened to a file under all its names, the latest first. */
export async function* historyOf(
  folder: RequestSource,
  file: string,
  params: Pick<Params<"session/history">, "sessionId"> = {},
): AsyncGenerator<Entry> {
  const asked = { ...params, files: [file], renames: true, limit: PAGE };
  for await (const { entries } of pages((cursor) => folder.request("session/history", { ...asked, ...cursor }))) {
    yield* entries;
  }
}

/** The bytes that a file of a snapshot has. */
export function bytesOf({ encoding, content }: FileAtResult): Uint8Array {
  return Buffer.from(content, encoding === "base64" ? "base64" : "utf-8");
}

/** The bytes that a text of a diff stands for. */
export function textBytes(text: string, encoding: string | undefined): Uint8Array {
  return Buffer.from(text, encoding === "latin-1" ? "latin1" : "utf-8");
}
