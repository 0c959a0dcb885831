// What differs between two snapshots, of some files.

import type { FileDiff } from "@snapd/client";
import { pages } from "../model/paging";
import type { ActingFolder } from "./action";
import { exactName } from "./names";

/** The differences between two snapshots without their contents, by exact name; of these files alone. */
export async function differences(
  folder: ActingFolder,
  from: string,
  to: string,
  files: readonly string[],
): Promise<ReadonlyMap<string, FileDiff>> {
  const found = new Map<string, FileDiff>();
  // no files stand for all of them
  if (from === to || files.length === 0) return found;
  const params = { from, to, files: [...files], contents: false };
  for await (const { diffs } of pages((cursor) => folder.request("snapshot/diffFull", { ...params, ...cursor }))) {
    for (const diff of diffs) found.set(exactName(diff), diff);
  }
  return found;
}
