/** The files that differ between two times. */
import type { FileDiff } from "@snapd/client";
import { useEffect, useState } from "preact/hooks";
import { getDifferences } from "../api/routes";
import { folderVersion } from "../store/diffs";
import { Latest } from "../store/latest";
import { tellProblem } from "../store/troubles";

const PAGE = 500;

/**
 * The files that differ between two snapshots; without `after`, between one and the folder, as it changes.
 *
 * @returns Undefined until they are known.
 */
export function useFilesSince(before: string, after: string | undefined): readonly FileDiff[] | undefined {
  const [files, setFiles] = useState<readonly FileDiff[]>();
  const version = after === undefined ? folderVersion.value : 0;
  useEffect(() => {
    const latest = new Latest();
    const isCurrent = latest.begin();
    void collect(before, after, isCurrent).then(
      (found) => {
        if (isCurrent()) setFiles(found);
      },
      (error: unknown) => {
        if (isCurrent()) tellProblem(error);
      },
    );
    return () => {
      latest.begin();
    };
  }, [before, after, version]);
  return files;
}

async function collect(before: string, after: string | undefined, isCurrent: () => boolean): Promise<FileDiff[]> {
  const found: FileDiff[] = [];
  for (let cursor: string | undefined; isCurrent();) {
    const answer = await getDifferences(before, after, { cursor, limit: PAGE });
    found.push(...answer.diffs);
    cursor = answer.nextCursor;
    if (cursor === undefined) break;
  }
  return found;
}
