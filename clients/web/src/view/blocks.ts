/** The parts in which the changes of many files are drawn: only those that are seen are on the page. */
import type { FileChange } from "@snapd/client";
import { type DiffRow, type Layout, rowsOf, type GapLines } from "../model/rows";
import { type Thread, withThreads } from "../model/threads";
import type { Changes, FileState } from "../store/diffs";

export interface Block {
  /** Stable while it shows the same lines, and so is its measured height. */
  readonly key: string;
  /** The file, by its index. */
  readonly file: number;
  readonly kind: "head" | "rows" | "picture" | "note" | "trouble" | "waiting" | "space";
  readonly rows: readonly DiffRow[];
  /** Pixels, until it is measured. */
  readonly estimate: number;
}

export interface FileBlocks {
  readonly file: FileChange;
  readonly state: FileState | undefined;
  readonly isFolded: boolean;
  readonly hasPicture: boolean;
  readonly unfolded: ReadonlyMap<number, GapLines>;
  /** Whether something can be done with its hunks. */
  readonly isActing: boolean;
  /** The comments on it. */
  readonly threads: readonly Thread[];
}

export const LINE = 20;
const GAP = 28;
const HEAD = 40;
const SPACE = 16;
const PICTURE = 260;
const NOTE = 44;
/** A thread that was not drawn yet. */
const THREAD = 120;
/** Rows of one part: fewer parts are measured, and few rows are drawn in vain. */
const ROWS = 40;
/** A file that was not fetched yet is thought no longer than that. */
const LONGEST_GUESS = 400;

export function blocksOf(files: readonly FileBlocks[], layout: Layout): Block[] {
  const blocks: Block[] = [];
  for (const [at, file] of files.entries()) {
    const push = (kind: Block["kind"], estimate: number, rows: readonly DiffRow[] = [], part = "") =>
      blocks.push({ key: `${file.file.file}\n${kind}${part}`, file: at, kind, rows, estimate });
    push("head", HEAD);
    if (!file.isFolded) pushBody(file, layout, push);
    push("space", SPACE);
  }
  return blocks;
}

type Push = (kind: Block["kind"], estimate: number, rows?: readonly DiffRow[], part?: string) => void;

function pushBody(
  { file, state, hasPicture, unfolded, isActing, threads }: FileBlocks,
  layout: Layout,
  push: Push,
): void {
  if (state?.problem !== undefined) {
    push("trouble", 72);
    return;
  }
  const { changes } = state ?? {};
  if (changes === undefined) {
    const lines = Math.min(LONGEST_GUESS, file.additions + file.deletions + 6);
    push("waiting", hasPicture ? PICTURE : file.binary ? NOTE : lines * LINE + GAP);
    return;
  }
  if (hasPicture) push("picture", PICTURE);
  if (changes.note !== undefined && !(hasPicture && file.binary)) push("note", NOTE);
  const rows = drawnRows(changes, { layout, unfolded, isActing, threads });
  for (let from = 0; from < rows.length; from += ROWS) {
    const part = rows.slice(from, from + ROWS);
    const height = part.reduce((sum, row) => sum + heightOf(row), 0);
    push("rows", height, part, ` ${layout} ${from} ${unfolded.size} ${rows.length}`);
  }
}

function heightOf(row: DiffRow): number {
  return row.kind === "threads" ? THREAD * row.threads.length : row.kind === "gap" ? GAP : LINE;
}

/** What the rows of changes depend on besides them. */
interface Drawing {
  readonly layout: Layout;
  readonly unfolded: ReadonlyMap<number, GapLines>;
  readonly isActing: boolean;
  readonly threads: readonly Thread[];
}

const drawn = new WeakMap<Changes, { readonly drawing: Drawing; readonly rows: readonly DiffRow[] }>();

/** Rows are worked out once for what they show, however often the list is put together. */
function drawnRows(changes: Changes, drawing: Drawing): readonly DiffRow[] {
  const { layout, unfolded, isActing, threads } = drawing;
  const known = drawn.get(changes);
  const isSame = (name: keyof Drawing) => known?.drawing[name] === drawing[name];
  if (known !== undefined && (["layout", "unfolded", "isActing", "threads"] as const).every(isSame)) return known.rows;
  const rows = withThreads(rowsOf(changes.hunks, layout, changes.texts, unfolded, isActing), threads);
  drawn.set(changes, { drawing, rows });
  return rows;
}
