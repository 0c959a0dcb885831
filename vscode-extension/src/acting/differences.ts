// What differs between two snapshots, of some files.

import type { DiffFullResult, FileDiff } from "snapd-client";
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
  let cursor: string | undefined;
  do {
    const page: DiffFullResult = await folder.request("snapshot/diffFull", {
      from,
      to,
      files: [...files],
      contents: false,
      ...(cursor !== undefined && { cursor }),
    });
    for (const diff of page.diffs) found.set(exactName(diff), diff);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return found;
}
