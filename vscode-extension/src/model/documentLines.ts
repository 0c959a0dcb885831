// The lines of a document of the editor.

/** What has lines: `TextDocument` is one. */
export interface Lines {
  readonly lineCount: number;
  lineAt(line: number): { readonly text: string };
}

const LINE_END = /\r\n|\r|\n/;

/** All lines, without their ends. */
export function linesOf(document: Lines): readonly string[] {
  return Array.from({ length: document.lineCount }, (_, line) => document.lineAt(line).text);
}

/** The lines of a text, without their ends, as the editor counts them. */
export function splitLines(text: string): readonly string[] {
  return text.split(LINE_END);
}
