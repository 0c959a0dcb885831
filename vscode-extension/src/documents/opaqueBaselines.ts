// The bytes of binary baselines: the daemon gives only their object id, and a snapshot has the bytes.

import { createHash } from "node:crypto";
import { type Entry, SnapdError } from "@snapd/client";
import { requestName } from "../model/changes";
import { pages } from "../model/paging";
import { type RequestSource, bytesOf, historyOf } from "./contents";

/** Snapshots that are looked into, at most: each costs as much as the file is large. */
const MOST_SNAPSHOTS = 200;
const PAGE = 50;
/** A line of a git diff; the second id is that of the new side, abbreviated. */
const IDS = /^index [0-9a-f]+\.\.([0-9a-f]+)/gm;
const NO_FILE = /^0+$/;
const NOT_THERE = ["unknownSnapshot", "fileNotInSnapshot"];

/** A file of a snapshot. */
interface Candidate {
  readonly hash: string;
  readonly file: string;
}

/**
 * The bytes of the baseline of a file that is no text.
 *
 * @param name - of the file, as `requestName` has it.
 * @returns undefined if the baseline has the bytes that the file has.
 * @throws SnapdError, ConnectionLostError: see `SnapdClient.request`. Error: no snapshot has it any longer.
 */
export async function opaqueBaseline(folder: RequestSource, name: string): Promise<Uint8Array | undefined> {
  // to undo the changes would make the file its baseline
  const { details } = await folder.request("review/revert", {
    files: [name],
    dryRun: true,
    onConflict: "overwrite",
    details: "diff",
  });
  const ids = [...(details?.diff ?? "").matchAll(IDS)].flatMap(([, id]) => id ?? []).filter((id) => !NO_FILE.test(id));
  if (ids.length === 0) return undefined;
  let left = MOST_SNAPSHOTS;
  for await (const { hash, file } of candidates(folder, name)) {
    if (left === 0) break;
    left -= 1;
    const bytes = await bytesAt(folder, hash, file);
    if (bytes !== undefined && ids.some((id) => gitId(bytes).startsWith(id))) return bytes;
  }
  throw new Error(`No snapshot has ${name} as it was before the pending changes`);
}

/** The states of a file, under all its names, each once. */
async function* candidates(folder: RequestSource, name: string): AsyncGenerator<Candidate> {
  const seen = new Set<string>();
  for await (const candidate of states(folder, name)) {
    const key = JSON.stringify(candidate);
    if (seen.has(key)) continue;
    seen.add(key);
    yield candidate;
  }
}

/** Those around what changed it, the latest first; then all others: keeping it took a snapshot as well. */
async function* states(folder: RequestSource, name: string): AsyncGenerator<Candidate> {
  const names = new Set([name]);
  for await (const entry of historyOf(folder, name)) {
    for (const file of namesIn(entry)) {
      names.add(file);
      for (const hash of [entry.after, entry.before]) if (hash !== undefined) yield { hash, file };
    }
  }
  for await (const hash of snapshots(folder)) for (const file of names) yield { hash, file };
}

async function* snapshots(folder: RequestSource): AsyncGenerator<string> {
  const asked = { counts: false, limit: PAGE };
  for await (const { snapshots } of pages((cursor) => folder.request("snapshot/list", { ...asked, ...cursor }))) {
    yield* snapshots.map(({ hash }) => hash);
  }
}

function namesIn({ files }: Entry): readonly string[] {
  return files.flatMap((file) => [requestName(file), ...(file.renamedFrom === undefined ? [] : [file.renamedFrom])]);
}

async function bytesAt(folder: RequestSource, hash: string, file: string): Promise<Uint8Array | undefined> {
  try {
    return bytesOf(await folder.request("snapshot/fileAt", { hash, file }));
  } catch (error) {
    // it was not there, or has expired
    if (error instanceof SnapdError && NOT_THERE.includes(error.kind ?? "")) return undefined;
    throw error;
  }
}

function gitId(bytes: Uint8Array): string {
  return createHash("sha1").update(`blob ${bytes.byteLength}\0`).update(bytes).digest("hex");
}
