/** Makes names and texts from outside safe to show: they cannot look like something else. */

/** Characters that are invisible but change how the text around them is drawn; tabs are allowed. */
const UNSEEN =
  /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g;

/** A text with what would be unseen written out, such as `⟨U+202E⟩`. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (character) => {
    const code = character.charCodeAt(0);
    // the carriage return of a Windows line is at the end of each of them
    return code === 0x0d ? "␍" : `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

/** The first line of a text that is not blank, with its whitespace collapsed. */
export function firstLine(text: string | undefined): string | undefined {
  const line = text?.split("\n").find((one) => one.trim() !== "");
  return line === undefined ? undefined : visible(line.trim().replaceAll(/\s+/g, " "));
}

/** A file's folder, with its last `/`, and its own name. */
export function splitName(file: string): readonly [string, string] {
  const at = file.lastIndexOf("/") + 1;
  return [visible(file.slice(0, at)), visible(file.slice(at))];
}

/** Characters at the end of a shortened name: they distinguish `order-17.test.ts` from `order-18.test.ts`. */
const TAIL = 12;

/** A text in two parts, of which the second one is always shown: a cut lies between them. */
export function cutParts(text: string): readonly [string, string] {
  if (text.length <= TAIL + 4) return ["", text];
  const at = text.length - TAIL;
  // a character outside of the first plane has two units
  const whole = /[\udc00-\udfff]/.test(text.charAt(at)) ? at - 1 : at;
  return [text.slice(0, whole), text.slice(whole)];
}

/** How a request names a file: by its URI where its name is not valid UTF-8. */
export function exactName({ file, uri }: { readonly file: string; readonly uri?: string }): string {
  return uri ?? file;
}
