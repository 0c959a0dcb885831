/** Where a text occurs in another one. */
import type { Span } from "./words";

/** All places of a text, from the left, whatever the case of its letters. */
export function matchesIn(text: string, needle: string): Span[] {
  if (needle === "") return [];
  const found: Span[] = [];
  const pattern = new RegExp(needle.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`), "giu");
  for (const match of text.matchAll(pattern)) found.push({ from: match.index, to: match.index + match[0].length });
  return found;
}
