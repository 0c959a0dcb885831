// How files and snapshots are named: to the daemon, and to people.

import { fileURLToPath } from "node:url";
import path from "node:path";

/** What has the name of a file in it: a change, an outcome, something skipped. */
export interface NamedFile {
  readonly file: string;
  readonly uri?: string;
}

/** The exact name of a file, for requests and comparisons. */
export function exactName(named: NamedFile): string {
  return named.uri ?? named.file;
}

/** The absolute path of a file in a folder. */
export function absolutePath(folder: string, named: NamedFile): string {
  return path.join(fileURLToPath(folder), ...named.file.split("/"));
}

/** Names in a sentence: "a", "a and b", "a, b and 3 more". */
export function listed(names: readonly string[], most = 4): string {
  if (names.length <= 1) return names.join("");
  const shown = names.length <= most ? names.slice(0, -1) : names.slice(0, most - 1);
  const last = names.length <= most ? names.at(-1) : `${names.length - shown.length} more`;
  return `${shown.join(", ")} and ${last ?? ""}`;
}

/** A snapshot in a sentence. */
export function snapshotName(hash: string): string {
  return `snapshot ${hash.slice(0, 10)}`;
}
