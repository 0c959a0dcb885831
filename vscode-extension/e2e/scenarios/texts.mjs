/** Texts for scenarios. */

/** The settings of the project. */
export const SETTINGS = ".vscode/settings.json";

/** Ten lines, far enough apart that changes of the first, the sixth and the last are hunks of their own. */
export const LIST = `alpha
beta
gamma
delta
epsilon
zeta
eta
theta
iota
kappa
`;

/** Thirty lines, "line 1" and so on. */
export const LONG = Array.from({ length: 30 }, (_, at) => `line ${at + 1}\n`).join("");

/**
 * A text in which a part of it is another.
 *
 * @param {string} text
 * @param {string} part That is in it once.
 * @param {string} changed
 */
export function replaced(text, part, changed) {
  const [before, after, ...more] = text.split(part);
  if (before === undefined || after === undefined || more.length > 0) {
    throw new Error(`the text has not once ${part}`);
  }
  return `${before}${changed}${after}`;
}

/**
 * A text in which one line is another.
 *
 * @param {string} text
 * @param {string} line
 * @param {string} changed
 */
export function withLine(text, line, changed) {
  const lines = text.split("\n");
  const at = lines.indexOf(line);
  if (at < 0) {
    throw new Error(`the text has no line ${line}`);
  }
  return lines.with(at, changed).join("\n");
}
