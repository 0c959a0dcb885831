// The names of the read-only documents: a file as a snapshot has it.

/** The scheme of these documents. */
export const SCHEME = "snapd";

/** One file of one snapshot. */
export interface Place {
  /** The workspaceUri. */
  readonly folder: string;
  /** The snapshot; empty where the file did not exist, which is an empty document. */
  readonly hash: string;
  /** Relative to the folder; the exact `file:` URI where the name is not valid UTF-8. */
  readonly file: string;
  /** The step that it is shown for. */
  readonly stepId?: string;
  /** On which side of the step. */
  readonly side?: "before" | "after";
  /**
   * The session of the step or the turn, where others changed the file beside it: the text is then what the step, or the
   * turn, itself began with, or left, and no snapshot is just that.
   */
  readonly own?: string;
  /** The message of the turn, for the own text of one. */
  readonly messageId?: string;
  /** The `printOf` the turn's change of the file: a turn goes on, and its steps are undone one by one. */
  readonly print?: string;
  /**
   * The name that a file with pending changes has now: this is what these are compared with, under the name that it had
   * then. No snapshot is just that.
   */
  readonly baseline?: string;
}

/**
 * The URI of a document.
 *
 * Its path is that of the file on disk: an editor finds language and icon, and takes two sides of a file for that and
 * not for a rename. All that counts is in its query.
 */
export function documentUri(place: Place): string {
  const { folder, hash, file, stepId, side, own, messageId, print, baseline } = place;
  const name = file.startsWith("file:") ? shownName(folder, file) : file;
  const path = `${pathOf(folder)}/${name.split("/").map(encodeURIComponent).join("/")}`;
  const query = robustJson({ folder, hash, file, stepId, side, own, messageId, print, baseline });
  return `${SCHEME}:${path}?${encodeURIComponent(query)}`;
}

/** The place that a URI names; undefined where it is not one of `documentUri`. */
export function placeOf(uri: string): Place | undefined {
  const question = uri.indexOf("?");
  if (!uri.startsWith(`${SCHEME}:`) || question < 0) return undefined;
  const query = uri.slice(question + 1).replace(/#.*$/s, "");
  let value: unknown;
  try {
    value = JSON.parse(decodeURIComponent(query));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof URIError) return undefined;
    throw error;
  }
  return isPlace(value) ? value : undefined;
}

/** The name by which the file of a place goes now, as far as the place says. */
export function nameNow({ file, baseline }: Place): string {
  return baseline ?? file;
}

/** The path of a folder, as it is escaped; without a slash at the end. */
function pathOf(folder: string): string {
  return folder.replace(/^file:(\/\/[^/]*)?/i, "").replace(/\/$/, "");
}

/** The name of a file for people: U+FFFD stands for bytes that are not UTF-8. */
function shownName(folder: string, uri: string): string {
  const base = folder.endsWith("/") ? folder : `${folder}/`;
  const relative = uri.startsWith(base) ? uri.slice(base.length) : uri.slice(uri.lastIndexOf("/") + 1);
  const bytes = unescapedBytes(relative);
  return new TextDecoder("utf-8").decode(bytes);
}

function unescapedBytes(text: string): Uint8Array {
  const latin1 = text.replace(/%([0-9a-f]{2})/gi, (_, digits: string) => String.fromCharCode(parseInt(digits, 16)));
  return Uint8Array.from(latin1, (character) => character.charCodeAt(0));
}

// Some ways through VS Code decode a query once more than they encode it: there is nothing in this one to decode.
function robustJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[^\x20-\x7e]|[%#?&+]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function isPlace(value: unknown): value is Place {
  if (typeof value !== "object" || value === null) return false;
  const { folder, hash, file, stepId, side, own, messageId, print, baseline } = value as Record<keyof Place, unknown>;
  return (
    typeof folder === "string" &&
    typeof hash === "string" &&
    /^([0-9a-f]{40})?$/.test(hash) &&
    typeof file === "string" &&
    file !== "" &&
    (stepId === undefined || typeof stepId === "string") &&
    (side === undefined || side === "before" || side === "after") &&
    [own, messageId, print, baseline].every((each) => each === undefined || typeof each === "string")
  );
}
