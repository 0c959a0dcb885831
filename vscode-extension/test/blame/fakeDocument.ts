// A document that somebody types into, as VS Code reports it.

import { splitLines } from "../../src/model/documentLines";
import type { BlamedDocument } from "../../src/blame/documentBlame";
import type { TextChange } from "../../src/blame/savedLines";

/** A place in a text: line and character, from 0. */
export type Place = readonly [line: number, character: number];

export class FakeDocument implements BlamedDocument {
  readonly uri = { toString: () => "file:///work/app/a.txt" };
  isDirty = false;
  text: string;

  constructor(text: string) {
    this.text = text;
  }

  get lines(): readonly string[] {
    return splitLines(this.text);
  }

  get lineCount(): number {
    return this.lines.length;
  }

  lineAt(line: number): { readonly text: string } {
    const text = this.lines[line];
    if (text === undefined) throw new Error(`there is no line ${line}`);
    return { text };
  }

  /** Replaces a part; the answer is what VS Code reports. */
  replace([startLine, from]: Place, [endLine, to]: Place, text: string): TextChange {
    const offset = (line: number, character: number): number =>
      this.lines.slice(0, line).reduce((sum, { length }) => sum + length + 1, 0) + character;
    this.text = this.text.slice(0, offset(startLine, from)) + text + this.text.slice(offset(endLine, to));
    return { range: { start: { line: startLine }, end: { line: endLine } }, text };
  }
}
