// Which hunks of a step's file lines of its diff editor belong to.

import type { Hunk, PendingHunk } from "@snapd/client";

/** Lines, counted from 1, both ends included. */
export interface LineRange {
  readonly first: number;
  readonly last: number;
}

/** The side of a diff editor: what was before the step, and what it left. */
export type DiffSide = "before" | "after";

interface Span {
  readonly start: number;
  readonly count: number;
}

const HEADER = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/** The lines of a selection; one that ends before the first character of a line does not take that line. */
export function linesSelected(selection: {
  readonly start: { readonly line: number };
  readonly end: { readonly line: number; readonly character: number };
}): LineRange {
  const first = selection.start.line + 1;
  const last = selection.end.line + 1;
  return { first, last: last > first && selection.end.character === 0 ? last - 1 : last };
}

/** The hunks that any of the line ranges touches on one side, each once, in order. */
export function hunksAt(hunks: readonly Hunk[], side: DiffSide, ranges: readonly LineRange[]): Hunk[] {
  return hunks.filter((hunk) => ranges.some((range) => touches(spanOf(hunk, side), range)));
}

/**
 * Whether the lines of a document match the hunks.
 *
 * An editor counts lines in its own way (a lone carriage return ends one, say), and the file of a step that overlapped
 * others may be no snapshot's: then the line does not determine the hunk.
 */
export function isShownBy(lines: readonly string[], hunks: readonly Hunk[], side: DiffSide): boolean {
  const sign = side === "before" ? "-" : "+";
  return hunks.every((hunk) => {
    const { start, count } = spanOf(hunk, side);
    const expected = hunk.lines
      .filter((line) => line.startsWith(" ") || line.startsWith(sign))
      .map((line) => line.slice(1));
    const shown = count === 0 ? [] : lines.slice(start - 1, start - 1 + count);
    return expected.length === count && expected.every((line, at) => bare(line) === bare(shown[at]));
  });
}

/** Where a hunk begins on one side: its first changed line, from 0; never beyond the document. */
export function firstChangedLine(hunk: Hunk, side: DiffSide, lineCount: number): number {
  const { start, count } = spanOf(hunk, side);
  const sign = side === "before" ? "-" : "+";
  const before = hunk.lines.findIndex((line) => line.startsWith("+") || line.startsWith("-"));
  const own = hunk.lines.slice(0, before).filter((line) => line.startsWith(" ") || line.startsWith(sign)).length;
  return Math.max(0, Math.min((count === 0 ? start : start - 1) + own, lineCount - 1));
}

/** A pending hunk that has a change of a step, and whether it has no other. */
export interface PendingPart {
  readonly index: number;
  readonly isAlone: boolean;
}

/** The pending hunk in which the change of a step's hunk is; undefined if it is not pending as the step made it. */
export function pendingPart(hunk: Hunk, pending: readonly PendingHunk[], stepId: string): PendingPart | undefined {
  const own = changedLines(hunk, Infinity);
  for (const { index, lines, owners } of pending) {
    if (!owners.some((owner) => owner.stepId === stepId)) continue;
    const all = lines.filter((line) => line.startsWith("+") || line.startsWith("-"));
    const at = all.findIndex((_, from) => own.every((line, offset) => all[from + offset] === line));
    if (at >= 0) return { index, isAlone: all.length === own.length };
  }
  return undefined;
}

/** The first lines of a hunk that were changed, for a list. */
export function changedLines(hunk: Hunk, most: number): string[] {
  return hunk.lines.filter((line) => line.startsWith("+") || line.startsWith("-")).slice(0, most);
}

function spanOf(hunk: Hunk, side: DiffSide): Span {
  const found = HEADER.exec(hunk.header);
  if (found === null) throw new Error(`no header of a hunk: ${hunk.header}`);
  const [start, count] = side === "before" ? found.slice(1, 3) : found.slice(3, 5);
  return { start: Number(start), count: count === undefined ? 1 : Number(count) };
}

function touches(span: Span, range: LineRange): boolean {
  // where no lines are, the place is between a line and the next
  if (span.count === 0) return range.first <= span.start + 1 && range.last >= span.start;
  return range.first <= span.start + span.count - 1 && range.last >= span.start;
}

// An editor shows neither the byte order mark nor the carriage return of a line end.
function bare(line: string | undefined): string | undefined {
  return line?.replace(/^\uFEFF/, "").replace(/\r$/, "");
}
