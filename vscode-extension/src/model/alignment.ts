// Which lines of one text are lines of another.

type Range = readonly [start: number, end: number];

/**
 * For each line of a text, its line in another text; undefined for one that is not there.
 *
 * Lines that begin or end both texts belong together, and then those that either text has only once. No line is matched
 * with two, and their order is the same in both texts.
 */
export function aligned(one: readonly string[], other: readonly string[]): readonly (number | undefined)[] {
  const found = new Array<number | undefined>(one.length).fill(undefined);
  const waiting: [Range, Range][] = [
    [
      [0, one.length],
      [0, other.length],
    ],
  ];
  for (let parts = waiting.pop(); parts !== undefined; parts = waiting.pop()) {
    let [[start, end], [first, last]] = parts;
    while (start < end && first < last && one[start] === other[first]) found[start++] = first++;
    while (start < end && first < last && one[end - 1] === other[last - 1]) found[--end] = --last;
    const anchors = anchorsOf(one, [start, end], other, [first, last]);
    let before: readonly [number, number] = [start, first];
    for (const [line, place] of anchors) {
      found[line] = place;
      waiting.push([
        [before[0], line],
        [before[1], place],
      ]);
      before = [line + 1, place + 1];
    }
    if (anchors.length > 0)
      waiting.push([
        [before[0], end],
        [before[1], last],
      ]);
  }
  return found;
}

/** Lines that both parts have exactly once: as many as have the same order in both. */
function anchorsOf(
  one: readonly string[],
  [start, end]: Range,
  other: readonly string[],
  [first, last]: Range,
): readonly (readonly [number, number])[] {
  const places = onceIn(other, [first, last]);
  const pairs = [...onceIn(one, [start, end])].flatMap(([text, line]) => {
    const place = places.get(text);
    return place === undefined ? [] : [[line, place] as const];
  });
  return longestRising(pairs);
}

function onceIn(lines: readonly string[], [start, end]: Range): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  const repeated = new Set<string>();
  for (let line = start; line < end; line += 1) {
    const text = lines[line] ?? "";
    if (found.has(text)) repeated.add(text);
    else found.set(text, line);
  }
  for (const text of repeated) found.delete(text);
  return found;
}

/** The longest part of some pairs, which are ordered by their first number, that the second one orders as well. */
function longestRising(pairs: readonly (readonly [number, number])[]): readonly (readonly [number, number])[] {
  interface Link {
    readonly pair: readonly [number, number];
    readonly before: Link | undefined;
  }
  const tops: Link[] = [];
  for (const pair of pairs) {
    let [low, high] = [0, tops.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((tops[middle]?.pair[1] ?? Infinity) < pair[1]) low = middle + 1;
      else high = middle;
    }
    tops[low] = { pair, before: tops[low - 1] };
  }
  const found: (readonly [number, number])[] = [];
  for (let link = tops.at(-1); link !== undefined; link = link.before) found.unshift(link.pair);
  return found;
}

/** Where a range of lines is in another text: from the first to the last line that it has; undefined if it has none. */
export function movedRange(
  lines: readonly (number | undefined)[],
  first: number,
  last: number,
): { readonly first: number; readonly last: number } | undefined {
  const there = lines.slice(first, last + 1).filter((line) => line !== undefined);
  const [from, to] = [there[0], there.at(-1)];
  return from === undefined || to === undefined ? undefined : { first: from, last: to };
}
