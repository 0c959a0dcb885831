/** Goes from change to change, and from file to file, by the keyboard. */
import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Heights } from "../model/heights";
import type { Line } from "../model/diff";
import { visible } from "../model/names";
import type { ChangedLine } from "../model/route";
import { currentHunk, announcement } from "../store/place";
import type { Source } from "../store/diffs";
import { type Block, type FileBlocks, LINE } from "./blocks";
import { useKeys } from "./keyboard";

/** A place to go to: a hunk, or the head of a file that has none or was not fetched yet. */
interface Stop {
  readonly file: number;
  readonly hunk: number | undefined;
}

export interface Drawn {
  readonly source: Source;
  readonly parts: readonly FileBlocks[];
  readonly blocks: readonly Block[];
  readonly heights: Heights;
}

type Ref = RefObject<HTMLDivElement | null>;

/** Pixels above a change that stay seen: the head of its file, and some lines. */
const ABOVE = 40 + 3 * LINE;

/**
 * Offers the keys for the changes of a list of files, and goes to one of their lines once it is there.
 *
 * @param file The file of that line.
 */
export function useSteps(
  scroller: Ref,
  body: Ref,
  drawn: Drawn,
  file: string | undefined,
  line: ChangedLine | undefined,
): void {
  const wanted = useRef<{ readonly key: string; readonly row: number } | undefined>(undefined);
  const { source, parts, blocks, heights } = drawn;

  const scrollTo = (found: Place): boolean => {
    const [element, list, block] = [scroller.current, body.current, blocks[found.block]];
    if (element === null || list === null || block === undefined) return false;
    wanted.current = block.kind === "rows" ? { key: block.key, row: found.row } : undefined;
    element.scrollTop =
      list.offsetTop + heights.top(found.block) + found.row * LINE - (block.kind === "rows" ? ABOVE : 0);
    return true;
  };

  const go = (stop: Stop, stops: readonly Stop[]) => {
    const file = parts[stop.file]?.file;
    if (file === undefined || !scrollTo(placeOf(blocks, stop))) return;
    currentHunk.value = stop.hunk === undefined ? undefined : { source: source.key, file: file.file, hunk: stop.hunk };
    if (stop.hunk === undefined) currentHead = { source: source.key, file: stop.file };
    else currentHead = undefined;
    announcement.value = `${stop.hunk === undefined ? "File" : "Change"} ${stops.indexOf(stop) + 1} of ${stops.length}, ${visible(file.file)}`;
  };

  const move = (by: 1 | -1, isFile: boolean) => () => {
    const all = stopsOf(parts);
    const stops = isFile ? parts.map((_, file): Stop => ({ file, hunk: undefined })) : all;
    const at = here(stops, drawn, scroller, body, by, isFile);
    const stop = stops[at + by];
    if (stop !== undefined) go(stop, stops);
  };

  useKeys({
    nextHunk: move(1, false),
    previousHunk: move(-1, false),
    nextFile: move(1, true),
    previousFile: move(-1, true),
  });

  // keys act on the file that was chosen last, not on a change of an earlier one
  const chosen = useRef(file);
  useLayoutEffect(() => {
    if (chosen.current === file) return;
    chosen.current = file;
    currentHead = undefined;
    if (currentHunk.peek()?.file !== file) currentHunk.value = undefined;
  }, [file]);

  const reached = useRef("");
  useLayoutEffect(() => {
    if (file === undefined || line === undefined) return;
    const name = JSON.stringify([source.key, file, line]);
    // before its file was fetched, it is nowhere
    const found = reached.current === name ? undefined : lineIn(drawn, file, line);
    if (found === undefined || !scrollTo(found)) return;
    reached.current = name;
    if (found.hunk !== undefined) currentHunk.value = { source: source.key, file, hunk: found.hunk };
  });

  // wrapped lines are higher than estimated; once drawn, the position of the change is exact
  useLayoutEffect(() => {
    const [element, list] = [scroller.current, body.current];
    const goal = wanted.current;
    if (element === null || list === null || goal === undefined) return;
    const block = [...list.querySelectorAll<HTMLElement>("[data-block]")].find(
      (one) => one.dataset["block"] === goal.key,
    );
    const row = block?.children[goal.row];
    if (row === undefined) return;
    wanted.current = undefined;
    const off = row.getBoundingClientRect().top - element.getBoundingClientRect().top - ABOVE;
    if (Math.abs(off) > 1) element.scrollTop += off;
  });
}

/** The head that the keyboard is at, where it is at no change. */
let currentHead: { readonly source: string; readonly file: number } | undefined;

function stopsOf(parts: readonly FileBlocks[]): Stop[] {
  return parts.flatMap((part, file): Stop[] => {
    const hunks = part.isFolded ? [] : (part.state?.changes?.hunks ?? []);
    return hunks.length === 0 ? [{ file, hunk: undefined }] : hunks.map(({ index }) => ({ file, hunk: index }));
  });
}

/** The index of the stop that is the current one, or that lies just before what is to come. */
function here(stops: readonly Stop[], drawn: Drawn, scroller: Ref, body: Ref, by: 1 | -1, isFile: boolean): number {
  const { source, parts, blocks, heights } = drawn;
  const current = currentHunk.peek();
  if (current?.source === source.key) {
    const file = parts.findIndex((part) => part.file.file === current.file);
    const at = stops.findIndex((stop) => stop.file === file && (isFile || stop.hunk === current.hunk));
    // before the first hunk of a file lies its head
    if (at >= 0) return at;
  }
  if (currentHead?.source === source.key) {
    const { file } = currentHead;
    const at = stops.findIndex((stop) => stop.file === file);
    // what was fetched since begins with the first change
    if (at >= 0) return stops[at]?.hunk === undefined ? at : by > 0 ? at - 1 : at;
  }
  const top = (scroller.current?.scrollTop ?? 0) - (body.current?.offsetTop ?? 0);
  const next = stops.findIndex((stop) => heights.top(placeOf(blocks, stop).block) >= top);
  if (next < 0) return by > 0 ? stops.length - 1 : stops.length;
  return by > 0 ? next - 1 : next;
}

/** Where something is drawn: a block, and a row in it. */
interface Place {
  readonly block: number;
  readonly row: number;
}

/** Where a changed line of a file is drawn, and in which hunk. */
function lineIn({ parts, blocks }: Drawn, file: string, wanted: ChangedLine): (Place & Pick<Stop, "hunk">) | undefined {
  const isIt = (line: Line | undefined) =>
    line?.kind === (wanted.change === "added" ? "added" : "removed") &&
    (wanted.change === "added" ? line.new : line.old) === wanted.line;
  for (const [block, { file: at, rows }] of blocks.entries()) {
    if (parts[at]?.file.file !== file) continue;
    const row = rows.findIndex((one) =>
      one.kind === "line" ? isIt(one.line) : one.kind === "pair" && (isIt(one.left) || isIt(one.right)),
    );
    const found = rows[row];
    if (found !== undefined && found.kind !== "gap" && found.kind !== "threads")
      return { block, row, hunk: found.hunk };
  }
  return undefined;
}

/** Where a stop is drawn. */
function placeOf(blocks: readonly Block[], { file, hunk }: Stop): Place {
  for (let at = 0; at < blocks.length; at += 1) {
    const block = blocks[at];
    if (block?.file !== file) continue;
    if (hunk === undefined) return { block: at, row: 0 };
    const row = block.rows.findIndex((one) =>
      one.kind === "gap" ? one.hunk?.index === hunk : one.kind !== "threads" && one.hunk === hunk,
    );
    if (row >= 0) return { block: at, row };
  }
  return { block: 0, row: 0 };
}
