/** Unified diffs as git writes them, read line by line. */
import { type DiffHunk, type Line, linesOf, readHunk } from "./diff";
import { structuredPatch } from "diff";

export interface PatchLine {
  /** `head` is what names the file, `hunk` a line with `@@`. */
  readonly kind: "head" | "hunk" | "same" | "added" | "removed" | "note";
  readonly text: string;
}

const HEADER = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;
const KINDS = { "+": "added", "-": "removed", "\\": "note" } as const;

/**
 * The lines of a patch of any number of files.
 *
 * A line of a hunk may look like the header of another file; only the hunk's line counts distinguish them.
 */
export function* patchLines(patch: string): Generator<PatchLine> {
  let [old, now] = [0, 0];
  for (const text of linesOf(patch)) {
    const sign = text.charAt(0);
    if (sign === "\\") yield { kind: "note", text };
    else if (old > 0 || now > 0) {
      const kind = sign === "+" || sign === "-" ? KINDS[sign] : "same";
      if (kind !== "added") old -= 1;
      if (kind !== "removed") now -= 1;
      yield { kind, text };
    } else {
      const match = HEADER.exec(text);
      [old, now] = match === null ? [0, 0] : [Number(match[1] ?? 1), Number(match[2] ?? 1)];
      yield { kind: match === null ? "head" : "hunk", text };
    }
  }
}

/** The hunks of a patch of one file. */
export function hunksOfPatch(patch: string): DiffHunk[] {
  const found: { index: number; header: string; lines: string[] }[] = [];
  for (const { kind, text } of patchLines(patch)) {
    if (kind === "hunk") found.push({ index: found.length, header: text, lines: [] });
    else if (kind !== "head") found.at(-1)?.lines.push(text);
  }
  return found.map(readHunk);
}

/** Milliseconds after which two texts are too different to look for the fewest changed lines. */
const PATIENCE = 400;
const AROUND = 3;

/** The hunks between two texts. */
export function hunksBetween(before: string, after: string): DiffHunk[] {
  const patch = structuredPatch("", "", before, after, undefined, undefined, { context: AROUND, timeout: PATIENCE });
  // the types do not say that it returns undefined after a timeout
  const found = patch?.hunks;
  if (found === undefined) return replaced(before, after);
  // of no lines, git names the line before them, and this library the one after
  const start = (from: number, count: number) => `${count === 0 ? from - 1 : from},${count}`;
  return found.map(({ oldStart, oldLines, newStart, newLines, lines }, index) =>
    readHunk({ index, header: `@@ -${start(oldStart, oldLines)} +${start(newStart, newLines)} @@`, lines }),
  );
}

/** One hunk for all that lies between the first and the last line that differ. */
function replaced(before: string, after: string): DiffHunk[] {
  const [old, now] = [linesOf(before), linesOf(after)];
  const shorter = Math.min(old.length, now.length);
  let start = 0;
  while (start < shorter && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < shorter - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  const [removed, added] = [old.slice(start, old.length - end), now.slice(start, now.length - end)];
  const lines: Line[] = [
    ...removed.map((text, at): Line => ({ kind: "removed", old: start + at + 1, text })),
    ...added.map((text, at): Line => ({ kind: "added", new: start + at + 1, text })),
  ];
  const [oldStart, newStart] = [removed, added].map(({ length }) => (length === 0 ? start : start + 1));
  const counts = { oldLines: removed.length, newLines: added.length };
  return [{ index: 0, oldStart: oldStart ?? 0, newStart: newStart ?? 0, ...counts, context: "", lines }];
}
