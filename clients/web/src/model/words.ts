/** Which words of a replaced line differ. */
import { diffWordsWithSpace } from "diff";

/** A part of a text: from one index to another, in UTF-16 units. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface Differing {
  readonly before: readonly Span[];
  readonly after: readonly Span[];
}

/** Longer lines are not compared word by word: it would take long, and the result would be hard to see. */
const LONGEST = 1000;
/** Where more than this part of both lines differs, they are other lines, not changed ones. */
const MOST = 0.75;

const NOTHING: Differing = { before: [], after: [] };

/** The parts of two lines that the other one does not have. Empty where they have too little in common. */
export function differingWords(before: string, after: string): Differing {
  if (before === after || before.length > LONGEST || after.length > LONGEST) return NOTHING;
  const removed: Span[] = [];
  const added: Span[] = [];
  let [old, now, changed] = [0, 0, 0];
  for (const part of diffWordsWithSpace(before, after)) {
    const { length } = part.value;
    if (part.removed) removed.push({ from: old, to: old + length });
    if (part.added) added.push({ from: now, to: now + length });
    // spaces that both have are no likeness
    if (part.removed || part.added) changed += part.value.trim().length;
    if (!part.added) old += length;
    if (!part.removed) now += length;
  }
  const all = before.trim().length + after.trim().length;
  return changed > all * MOST ? NOTHING : { before: removed, after: added };
}
