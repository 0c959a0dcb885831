/** The rows in which a diff is drawn, unified or split. */
import type { PlacedThread } from "./threads";
import { type DiffHunk, firstOf, type Line, type Texts } from "./diff";

export type Layout = "unified" | "split";

/** Lines that are not shown, before a hunk or after the last one. */
export interface GapRow {
  readonly kind: "gap";
  /** The index of the hunk below it; as many as there are hunks for the one at the end. */
  readonly gap: number;
  /** The number of hidden lines; undefined at the end of a file whose texts are not loaded. */
  readonly hidden: number | undefined;
  /** The hunk below it. */
  readonly hunk: DiffHunk | undefined;
}

export interface LineRow {
  readonly kind: "line";
  readonly line: Line;
  /** The line that it replaces or that replaces it, to show which words differ. */
  readonly other: Line | undefined;
  /** The hunk that it belongs to, by index; undefined for an unchanged line between hunks. */
  readonly hunk: number | undefined;
}

export interface PairRow {
  readonly kind: "pair";
  readonly left: Line | undefined;
  readonly right: Line | undefined;
  readonly hunk: number | undefined;
}

/** Comments below a line. */
export interface ThreadsRow {
  readonly kind: "threads";
  readonly threads: readonly PlacedThread[];
}

export type DiffRow = GapRow | LineRow | PairRow | ThreadsRow;

/** How many of the lines of a gap are shown: those at its top, and those at its bottom. */
export interface GapLines {
  readonly top: number;
  readonly bottom: number;
}

/**
 * The rows of a file.
 *
 * @param texts Both texts, if loaded: lines between hunks need them.
 * @param unfolded What is shown of each gap, by the index of the hunk below it.
 * @param isActing Whether something can be done with each hunk.
 */
export function rowsOf(
  hunks: readonly DiffHunk[],
  layout: Layout,
  texts: Texts | undefined,
  unfolded: ReadonlyMap<number, GapLines>,
  isActing = false,
): DiffRow[] {
  const rows: DiffRow[] = [];
  let [old, now] = [0, 0];
  for (const [at, hunk] of hunks.entries()) {
    const start = firstOf(hunk.newStart, hunk.newLines);
    pushGap(rows, { gap: at, old, now, hidden: Math.max(0, start - now), hunk, layout, texts, unfolded, isActing });
    if (layout === "split") pushPairs(rows, hunk);
    else pushLines(rows, hunk);
    old = firstOf(hunk.oldStart, hunk.oldLines) + hunk.oldLines;
    now = start + hunk.newLines;
  }
  if (hunks.length > 0) {
    const hidden = texts === undefined ? undefined : texts.after.length - now;
    pushGap(rows, { gap: hunks.length, old, now, hidden, hunk: undefined, layout, texts, unfolded, isActing });
  }
  return rows;
}

interface Gap {
  readonly gap: number;
  /** The indexes of its first line, before and after. */
  readonly old: number;
  readonly now: number;
  readonly hidden: number | undefined;
  readonly hunk: DiffHunk | undefined;
  readonly layout: Layout;
  readonly texts: Texts | undefined;
  readonly unfolded: ReadonlyMap<number, GapLines>;
  readonly isActing: boolean;
}

function pushGap(rows: DiffRow[], { gap, old, now, hidden, hunk, layout, texts, unfolded, isActing }: Gap): void {
  const lines = hidden ?? 0;
  const shown = (texts !== undefined && unfolded.get(gap)) || { top: 0, bottom: 0 };
  const top = Math.min(shown.top, lines);
  const bottom = Math.min(shown.bottom, lines - top);
  const push = (index: number) => {
    const line: Line = {
      kind: "same",
      old: old + index + 1,
      new: now + index + 1,
      text: texts?.after[now + index] ?? "",
    };
    if (layout === "split") rows.push({ kind: "pair", left: line, right: line, hunk: undefined });
    else rows.push({ kind: "line", line, other: undefined, hunk: undefined });
  };
  for (let index = 0; index < top; index += 1) push(index);
  const left = hidden === undefined ? undefined : lines - top - bottom;
  // above a hunk with which something can be done it stands in any case, and between two hunks
  if ((hunk !== undefined && (isActing || gap > 0)) || left !== 0) rows.push({ kind: "gap", gap, hidden: left, hunk });
  for (let index = lines - bottom; index < lines; index += 1) push(index);
}

function pushLines(rows: DiffRow[], hunk: DiffHunk): void {
  for (const run of runsOf(hunk.lines)) {
    if (run.same !== undefined) {
      rows.push({ kind: "line", line: run.same, other: undefined, hunk: hunk.index });
      continue;
    }
    run.removed.forEach((line, at) => rows.push({ kind: "line", line, other: run.added[at], hunk: hunk.index }));
    run.added.forEach((line, at) => rows.push({ kind: "line", line, other: run.removed[at], hunk: hunk.index }));
  }
}

function pushPairs(rows: DiffRow[], hunk: DiffHunk): void {
  for (const run of runsOf(hunk.lines)) {
    if (run.same !== undefined) {
      rows.push({ kind: "pair", left: run.same, right: run.same, hunk: hunk.index });
      continue;
    }
    const count = Math.max(run.removed.length, run.added.length);
    for (let at = 0; at < count; at += 1) {
      rows.push({ kind: "pair", left: run.removed[at], right: run.added[at], hunk: hunk.index });
    }
  }
}

/** Lines that belong together: one that is the same, or those that replace others. */
interface Run {
  readonly same?: Line;
  readonly removed: Line[];
  readonly added: Line[];
}

function* runsOf(lines: readonly Line[]): Generator<Run> {
  let run: Run = { removed: [], added: [] };
  const isEmpty = () => run.removed.length + run.added.length === 0;
  for (const line of lines) {
    if (line.kind === "same") {
      if (!isEmpty()) yield run;
      run = { removed: [], added: [] };
      yield { same: line, removed: [], added: [] };
    } else if (line.kind === "removed") {
      // removed lines after added ones begin a change of their own
      if (run.added.length > 0) {
        yield run;
        run = { removed: [], added: [] };
      }
      run.removed.push(line);
    } else run.added.push(line);
  }
  if (!isEmpty()) yield run;
}
