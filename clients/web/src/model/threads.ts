/** Comments among the lines of a diff. */
import type { Comment } from "@snapd/client";
import type { DiffHunk } from "./diff";
import type { DiffRow, ThreadsRow } from "./rows";

/** A new comment that is being typed. */
export interface Draft {
  /** The first of its lines, from 1, and how many there are. */
  readonly start: number;
  readonly count: number;
  /** These lines, as they were shown. */
  readonly lines: readonly string[];
  readonly text: string;
}

/** A comment, or one that is being typed. */
export type Thread = { readonly comment: Comment } | { readonly draft: Draft };

/** A thread below a line; it shows the lines that it is about if they are not above it. */
export interface PlacedThread {
  readonly thread: Thread;
  readonly isAtLine: boolean;
}

/** The last line of a thread, from 1. */
function lastLine(thread: Thread): number {
  const { start, count } = "comment" in thread ? thread.comment : thread.draft;
  return start + count - 1;
}

/** Puts threads below their last lines; one whose line is not shown comes after the last line before it. */
export function withThreads(rows: readonly DiffRow[], threads: readonly Thread[]): readonly DiffRow[] {
  if (threads.length === 0) return rows;
  const below = new Map<number, PlacedThread[]>();
  for (const thread of threads) {
    const last = lastLine(thread);
    const at = rows.findLastIndex((row) => (newNumber(row) ?? Infinity) <= last);
    const isOutdated = "comment" in thread && thread.comment.outdated === true;
    const placed = { thread, isAtLine: !isOutdated && at >= 0 && newNumber(rows[at]) === last };
    below.set(at, [...(below.get(at) ?? []), placed]);
  }
  const found: DiffRow[] = [];
  const push = (at: number) => {
    const here = below.get(at);
    if (here !== undefined) found.push({ kind: "threads", threads: here } satisfies ThreadsRow);
  };
  push(-1);
  for (const [at, row] of rows.entries()) {
    found.push(row);
    push(at);
  }
  return found;
}

/** The number of a row's line in the file as it is. */
function newNumber(row: DiffRow | undefined): number | undefined {
  return row?.kind === "line" ? row.line.new : row?.kind === "pair" ? row.right?.new : undefined;
}

/** The lines of the file that a hunk is about, from 1: those that came, or the one above those that went. */
export function linesToComment({ lines, newStart }: DiffHunk): { readonly start: number; readonly count: number } {
  const came = lines.flatMap(({ kind, new: number }) => (kind === "added" && number !== undefined ? [number] : []));
  const [first, last] = [came[0], came.at(-1)];
  if (first === undefined || last === undefined) {
    const went = lines.findIndex(({ kind }) => kind === "removed");
    const above = lines.slice(0, went).findLast((line) => line.new !== undefined)?.new;
    return { start: Math.max(1, above ?? newStart), count: 1 };
  }
  return { start: first, count: last - first + 1 };
}
