// Where the pending hunks of a file are in a document, which may hold text that is not saved.

import type { PendingHunk, ReviewFileResult } from "@snapd/client";

/** Lines that came, and lines that went in their place. */
export interface PlacedChange {
  /** The first line that came, from 0; without one, the line before which the others went. */
  readonly line: number;
  /** How many lines came. */
  readonly added: number;
  /** The lines that went. */
  readonly removed: readonly string[];
}

/** A hunk in a document. */
export interface PlacedHunk {
  readonly hunk: PendingHunk;
  /** In their order; at least one. */
  readonly changes: readonly PlacedChange[];
  /** The first and the last line, from 0; never beyond the document. */
  readonly first: number;
  readonly last: number;
}

/**
 * Finds the hunks of a file in a document.
 *
 * Unsaved edits move the hunks below them. A hunk that is edited has no place until the text is saved:
 * a decision about it would be ambiguous.
 *
 * @param document - its lines, without their ends.
 */
export function placeHunks(review: ReviewFileResult, document: readonly string[]): readonly PlacedHunk[] {
  const text = review.after
    .replace(/^\uFEFF/, "")
    .split("\n")
    .map((line) => line.replace(/\r$/, ""));
  const { prefix, suffix } = alike(text, document);
  return review.hunks.flatMap((hunk) => {
    const changes = changesOf(hunk);
    const [head, tail] = [changes[0], changes.at(-1)];
    if (head === undefined || tail === undefined) return [];
    const end = tail.line + tail.added;
    const shift = end <= prefix ? 0 : head.line >= text.length - suffix ? document.length - text.length : undefined;
    if (shift === undefined) return [];
    const within = (line: number): number => Math.max(0, Math.min(line + shift, document.length - 1));
    const moved = changes.map((change) => ({ ...change, line: change.line + shift }));
    return [{ hunk, changes: moved, first: within(head.line), last: within(Math.max(end - 1, tail.line)) }];
  });
}

/** The hunk that a line belongs to. */
export function hunkAt(hunks: readonly PlacedHunk[], line: number): PlacedHunk | undefined {
  return hunks.find(({ first, last }) => first <= line && line <= last);
}

/** The hunk after a line, or before it; past the last one, the other end. */
export function hunkBeside(
  hunks: readonly PlacedHunk[],
  line: number,
  direction: "next" | "previous",
): PlacedHunk | undefined {
  return direction === "next"
    ? (hunks.find(({ first }) => first > line) ?? hunks[0])
    : (hunks.findLast(({ first }) => first < line) ?? hunks.at(-1));
}

/** The runs of lines that came and went, where they are in the file. */
function changesOf({ lines, newStart, newLines }: PendingHunk): readonly PlacedChange[] {
  const found: { line: number; added: number; removed: string[] }[] = [];
  let line = newLines === 0 ? newStart : newStart - 1;
  let open: (typeof found)[number] | undefined;
  for (const each of lines) {
    const sign = each.charAt(0);
    if (sign === " ") {
      open = undefined;
      line += 1;
    }
    if (sign !== "+" && sign !== "-") continue;
    if (open === undefined) {
      open = { line, added: 0, removed: [] };
      found.push(open);
    }
    if (sign === "-") open.removed.push(each.slice(1).replace(/\r$/, ""));
    else {
      open.added += 1;
      line += 1;
    }
  }
  return found;
}

/** How many lines are the same at the beginning of two texts, and at their end. */
function alike(one: readonly string[], other: readonly string[]): { prefix: number; suffix: number } {
  const most = Math.min(one.length, other.length);
  let prefix = 0;
  while (prefix < most && one[prefix] === other[prefix]) prefix += 1;
  let suffix = 0;
  while (suffix < most - prefix && one.at(-1 - suffix) === other.at(-1 - suffix)) suffix += 1;
  return { prefix, suffix };
}
