/** A line in the pieces in which it is drawn: each with its colour, and whether it differs. */
import { visible } from "./names";
import type { Span } from "./words";

/** A part of a line with the classes of its colour. */
export interface Token extends Span {
  readonly style: string;
}

export interface Segment {
  readonly text: string;
  readonly style: string;
  readonly differs: boolean;
}

/** Of a longer line, only the beginning is drawn. */
export const MOST_DRAWN = 4000;

/**
 * The pieces of a line, without gaps and in order.
 *
 * @param tokens Ordered, without overlaps.
 * @param spans What differs; ordered, without overlaps.
 */
export function segmentsOf(line: string, tokens: readonly Token[], spans: readonly Span[]): Segment[] {
  const text = line.length > MOST_DRAWN ? line.slice(0, MOST_DRAWN) : line;
  const cuts = new Set([0, text.length]);
  for (const { from, to } of [...tokens, ...spans]) {
    if (from < text.length) cuts.add(from);
    if (to < text.length) cuts.add(to);
  }
  const places = [...cuts].sort((one, other) => one - other);
  const segments: Segment[] = [];
  let [token, span] = [0, 0];
  for (const [at, from] of places.entries()) {
    const to = places[at + 1];
    if (to === undefined) break;
    while ((tokens[token]?.to ?? Infinity) <= from) token += 1;
    while ((spans[span]?.to ?? Infinity) <= from) span += 1;
    const style = (tokens[token]?.from ?? Infinity) <= from ? (tokens[token]?.style ?? "") : "";
    const differs = (spans[span]?.from ?? Infinity) <= from;
    segments.push({ text: visible(text.slice(from, to)), style, differs });
  }
  return segments;
}
