// The files of an entry, with moved files marked as moved.

import type { Entry, FileChange, FileDiff, Step } from "@snapd/client";

/** A file that changed; where it was `movedFrom` another, that one is not listed as deleted. */
export type ChangedFile = FileChange & { readonly movedFrom?: FileChange };

/** The work tree before and after an entry or a step; no `after` while it is open. */
export interface Span {
  readonly before: string;
  readonly after?: string;
}

/** The snapshots around an entry or a step. */
export function spanOf(entry: Entry | Step): Span {
  const before = "from" in entry ? entry.from : entry.before;
  const after = "from" in entry ? entry.to : entry.after;
  return after === undefined ? { before } : { before, after };
}

/** The name that requests know a file by. */
export function requestName(change: Pick<FileChange, "file" | "uri">): string {
  return change.uri ?? change.file;
}

/** The other way round. */
export function changeNamed(name: string): Pick<FileChange, "file" | "uri"> {
  return name.startsWith("file:") ? { file: name, uri: name } : { file: name };
}

/** The files that may have been moved: none where nothing was added, or nothing deleted. */
export function maybeMoved(files: readonly FileChange[]): readonly FileChange[] {
  const found = files.filter(({ status }) => status !== "modified");
  const [added, deleted] = (["added", "deleted"] as const).map((kind) => found.some(({ status }) => status === kind));
  return added === true && deleted === true ? found : [];
}

/**
 * Joins the two ends of moved files.
 *
 * @param files - as an entry tells them.
 * @param diffs - the same, compared with renames.
 */
export function withRenames(files: readonly FileChange[], diffs: readonly FileDiff[]): readonly ChangedFile[] {
  const deleted = files.filter(({ status }) => status === "deleted");
  const moved = new Map<string, ChangedFile>();
  const gone = new Set<FileChange>();
  for (const { file, uri, renamedFrom, additions, deletions, binary } of diffs) {
    if (renamedFrom === undefined) continue;
    // two names that are not UTF-8 can look the same, so the match is ambiguous
    const [old, ...others] = deleted.filter((change) => change.file === renamedFrom);
    const change = files.find((each) => each.status === "added" && each.file === file && each.uri === uri);
    if (old === undefined || others.length > 0 || change === undefined) continue;
    gone.add(old);
    moved.set(requestName(change), { ...change, status: "modified", additions, deletions, binary, movedFrom: old });
  }
  return files.filter((change) => !gone.has(change)).map((change) => moved.get(requestName(change)) ?? change);
}
