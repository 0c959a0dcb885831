// Tracks which lines of a document are still the saved ones while it is edited.

import { type Lines, linesOf, splitLines } from "../model/documentLines";

/** A part of the text that was replaced, as VS Code reports it. */
export interface TextChange {
  readonly range: { readonly start: { readonly line: number }; readonly end: { readonly line: number } };
  readonly text: string;
}

/** What happened to lines: one for each change. */
export interface Change {
  /** Whether they were typed: otherwise, the document was read from disk again. */
  isTyped: boolean;
}

/** The saved line of a line, counted from 0; or what changed it; undefined if unknown. */
export type Origin = number | Change | undefined;

/** Follows the lines of a saved text through the changes of a document. */
export class SavedLines {
  /** The saved text. */
  readonly text: readonly string[];
  #origins: Origin[] = [];

  /**
   * Begins with a document that may have been changed already. Where that was done is then known only as far as the
   * text is the same from its beginning and from its end.
   */
  constructor(text: readonly string[], document: Lines) {
    this.text = text;
    this.#begin(document);
  }

  /** Begins with a document that has no unsaved text. */
  static of(document: Lines): SavedLines {
    return new SavedLines(linesOf(document), document);
  }

  /** Where a line of the document comes from. */
  at(line: number): Origin {
    return this.#origins[line];
  }

  /**
   * Follows changes that were made at once.
   *
   * @param changes - in the order in which VS Code reports them: each leaves the lines of the next ones where they are.
   * @param document - its state after them.
   * @param change - what they are, all together.
   */
  change(changes: readonly TextChange[], document: Lines, change: Change): void {
    for (const { range, text } of changes) {
      const lines = new Array<Origin>(splitLines(text).length).fill(change);
      this.#origins.splice(range.start.line, range.end.line - range.start.line + 1, ...lines);
    }
    // the reported changes do not match the text: compare the texts instead
    if (this.#origins.length !== document.lineCount) this.#begin(document);
    else this.#match(document);
  }

  #begin(document: Lines): void {
    this.#origins = new Array<Origin>(document.lineCount).fill(undefined);
    this.#match(document);
  }

  /** Finds saved lines among those that were touched: a change may have left them, or brought them back. */
  #match(document: Lines): void {
    const origins = this.#origins;
    let line = 0;
    let saved = 0;
    while (line < origins.length) {
      const origin = origins[line];
      if (typeof origin === "number") {
        line += 1;
        saved = origin + 1;
        continue;
      }
      const end = endOf(origins, line);
      const following = origins[end];
      const savedEnd = typeof following === "number" ? following : this.text.length;
      this.#matchBetween(document, [line, end], [saved, savedEnd]);
      line = end;
      saved = savedEnd;
    }
  }

  #matchBetween(document: Lines, [start, end]: Range, [first, last]: Range): void {
    const isSame = (line: number, saved: number): boolean => document.lineAt(line).text === this.text[saved];
    let [line, saved] = [start, first];
    while (line < end && saved < last && isSame(line, saved)) this.#origins[line++] = saved++;
    let [lineAfter, savedAfter] = [end, last];
    while (lineAfter > line && savedAfter > saved && isSame(lineAfter - 1, savedAfter - 1)) {
      this.#origins[--lineAfter] = --savedAfter;
    }
  }
}

type Range = readonly [start: number, end: number];

/** The first line from a line on that is a saved one. */
function endOf(origins: readonly Origin[], line: number): number {
  let end = line;
  while (end < origins.length && typeof origins[end] !== "number") end += 1;
  return end;
}
