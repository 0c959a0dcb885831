/** The changes of a file: hunks, their lines, and the texts around them. */
import type { Hunk } from "@snapd/client";

export interface Line {
  readonly kind: "same" | "added" | "removed";
  /** Its number before, from 1; absent for an added line. */
  readonly old?: number;
  /** Its number after, from 1; absent for a removed line. */
  readonly new?: number;
  readonly text: string;
  /** Whether no line break follows: it is the last of its file. */
  readonly isOpen?: boolean;
}

export interface DiffHunk {
  /** Its index among the hunks of the file, as requests name it. */
  readonly index: number;
  /** Where it begins before and after, from 1, and how many lines it has there. */
  readonly oldStart: number;
  readonly oldLines: number;
  readonly newStart: number;
  readonly newLines: number;
  /** What git names as its surroundings, such as the function. */
  readonly context: string;
  readonly lines: readonly Line[];
}

/** Both texts of a file, line by line, without line breaks. */
export interface Texts {
  readonly before: readonly string[];
  readonly after: readonly string[];
}

const HEADER = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/s;

/** A hunk as the wire has it, read. A header that is none is an error of the server. */
export function readHunk({ index, header, lines }: Pick<Hunk, "index" | "header" | "lines">): DiffHunk {
  const match = HEADER.exec(header);
  if (match === null) throw new Error(`The server sent a hunk with the header ${JSON.stringify(header)}.`);
  const [, oldStart, oldLines, newStart, newLines, context] = match;
  const hunk = {
    index,
    oldStart: Number(oldStart),
    oldLines: Number(oldLines ?? 1),
    newStart: Number(newStart),
    newLines: Number(newLines ?? 1),
    context: context ?? "",
  };
  return { ...hunk, lines: readLines(lines, hunk.oldStart, hunk.newStart) };
}

function readLines(lines: readonly string[], oldStart: number, newStart: number): Line[] {
  const read: Line[] = [];
  let [old, now] = [oldStart, newStart];
  for (const line of lines) {
    const text = withoutBreak(line.slice(1));
    const sign = line.charAt(0);
    if (sign === "+") read.push({ kind: "added", new: now++, text });
    else if (sign === "-") read.push({ kind: "removed", old: old++, text });
    else if (sign === "\\") {
      const last = read.pop();
      if (last !== undefined) read.push({ ...last, isOpen: true });
    } else read.push({ kind: "same", old: old++, new: now++, text });
  }
  return read;
}

/** The lines of a text, without their breaks. */
export function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function withoutBreak(line: string): string {
  return line.endsWith("\n") ? line.slice(0, -1) : line;
}

/**
 * The texts before and after, from the text after and the hunks.
 *
 * @param after The lines of the file as a snapshot has it.
 * @returns Undefined where the hunks do not fit the text: others changed the file as well, and the hunks leave that out.
 */
export function textsFrom(after: readonly string[], hunks: readonly DiffHunk[]): Texts | undefined {
  const before: string[] = [];
  let at = 0;
  for (const hunk of hunks) {
    const start = firstOf(hunk.newStart, hunk.newLines);
    if (start < at || start > after.length) return undefined;
    for (; at < start; at += 1) before.push(after[at] ?? "");
    if (before.length !== firstOf(hunk.oldStart, hunk.oldLines)) return undefined;
    for (const line of hunk.lines) {
      if (line.kind !== "added") before.push(line.text);
      if (line.kind === "removed") continue;
      if (after[at] !== line.text) return undefined;
      at += 1;
    }
  }
  for (; at < after.length; at += 1) before.push(after[at] ?? "");
  return { before, after };
}

/** The index of the first line of a hunk: git numbers the line before it where it has none. */
export function firstOf(start: number, count: number): number {
  return count === 0 ? start : start - 1;
}

/** The lines of hunks that are added, and those that are removed. */
export function countLines(hunks: readonly DiffHunk[]): { readonly additions: number; readonly deletions: number } {
  let [additions, deletions] = [0, 0];
  for (const { lines } of hunks) {
    for (const { kind } of lines) {
      if (kind === "added") additions += 1;
      else if (kind === "removed") deletions += 1;
    }
  }
  return { additions, deletions };
}
