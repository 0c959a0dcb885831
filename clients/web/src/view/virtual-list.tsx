/** A long list of rows with known heights, of which only the visible ones are in the document. */
import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { Heights } from "../model/heights";
import { useViewport } from "./viewport";

/** Pixels above and below the visible part that are drawn too. */
const SPARE = 400;

export interface VirtualListProps<T extends { readonly key: string }> {
  readonly rows: readonly T[];
  /** Pixels. */
  readonly heightOf: (row: T) => number;
  readonly view: (row: T) => JSX.Element | null;
  readonly kindOf?: (row: T) => string;
  /** Identifies the list: a new one starts at its top, the same one keeps its position when rows are added above. */
  readonly listKey: string;
  /** The row to scroll to, and a value whose change scrolls again. */
  readonly revealed?: { readonly key: string; readonly reason: string } | undefined;
  /** Whether there are no more rows than these. */
  readonly isComplete?: boolean;
  /** What stands above the rows. */
  readonly children?: JSX.Element | null | undefined;
}

export function VirtualList<T extends { readonly key: string }>(props: VirtualListProps<T>): JSX.Element {
  const { rows, heightOf, view, kindOf, listKey, revealed, isComplete = true, children } = props;
  const heights = useMemo(() => new Heights(rows.map(heightOf)), [rows]);
  const [ref, { top, height }] = useViewport<HTMLDivElement>();
  useSteady(ref, rows, heights, listKey);
  useRevealed(ref, rows, heights, revealed);
  const [from, to] = heights.between(top - SPARE, top + height + SPARE);
  return (
    <div class="scroller" ref={ref} tabIndex={-1}>
      {children}
      <ol class="rows" style={{ height: `${heights.total}px` }}>
        {rows.slice(from, to).map((row, at) => (
          <li
            key={row.key}
            class={`row-place ${kindOf?.(row) ?? ""}`}
            style={{ top: `${heights.top(from + at)}px`, height: `${heightOf(row)}px` }}
            aria-setsize={isComplete ? rows.length : -1}
            aria-posinset={from + at + 1}
          >
            {view(row)}
          </li>
        ))}
      </ol>
    </div>
  );
}

interface Ref {
  readonly current: HTMLDivElement | null;
}

/** The visible part stays in place while rows are added above it; at the top, new rows show at once. */
function useSteady(ref: Ref, rows: readonly { readonly key: string }[], heights: Heights, listKey: string): void {
  const before = useRef({ rows, heights, listKey });
  useLayoutEffect(() => {
    const known = before.current;
    before.current = { rows, heights, listKey };
    const element = ref.current;
    if (element === null || known.rows === rows) return;
    if (known.listKey !== listKey) {
      element.scrollTop = 0;
      return;
    }
    if (element.scrollTop === 0) return;
    const at = known.heights.indexAt(element.scrollTop);
    const key = known.rows[at]?.key;
    const place = rows.findIndex((row) => row.key === key);
    const offset = heights.top(place) - known.heights.top(at);
    if (place >= 0 && offset !== 0) element.scrollTop += offset;
  }, [ref, rows, heights, listKey]);
}

/** A selected row is scrolled to once, as soon as it is in the list. */
function useRevealed(
  ref: Ref,
  rows: readonly { readonly key: string }[],
  heights: Heights,
  revealed: { readonly key: string; readonly reason: string } | undefined,
): void {
  const done = useRef("");
  useLayoutEffect(() => {
    const element = ref.current;
    if (element === null || revealed === undefined || done.current === revealed.reason) return;
    const at = rows.findIndex((row) => row.key === revealed.key);
    if (at < 0) return;
    done.current = revealed.reason;
    const [top, bottom] = [heights.top(at), heights.top(at + 1)];
    const room = heights.height(at);
    if (top < element.scrollTop) element.scrollTop = Math.max(0, top - room);
    else if (bottom > element.scrollTop + element.clientHeight)
      element.scrollTop = bottom - element.clientHeight + room;
  });
}
