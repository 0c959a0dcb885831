// Artificial resource URIs that carry an item's marks for decorations and file icons.

import type { FileChange } from "@snapd/client";
import type { ChangedFile } from "../model/changes";

/** The scheme of these URIs. */
export const MARK_SCHEME = "snapd-item";

/** What is shown at an item: the letter of a file, and whether it was undone. */
export interface Mark {
  readonly letter: Letter | undefined;
  readonly undone: boolean;
}

/** Added, deleted, modified, renamed. */
export type Letter = "A" | "D" | "M" | "R";

/** The letter of a file. */
export function letterOf(file: FileChange & Pick<ChangedFile, "movedFrom">): Letter {
  if (file.movedFrom !== undefined || file.renamedFrom !== undefined) return "R";
  return file.status === "added" ? "A" : file.status === "deleted" ? "D" : "M";
}

/** The URI of an item; the name, with its extension, is what file icons are chosen by. */
export function markUri(name: string, mark: Mark): string {
  const path = name.split("/").map(encodeURIComponent).join("/");
  return `${MARK_SCHEME}:/${path}?${mark.letter ?? "-"}${mark.undone ? "u" : ""}`;
}

/** The marks in the query of such a URI; undefined for other URIs. */
export function markOf(query: string): Mark | undefined {
  const found = /^([ADMR-])(u?)$/.exec(query);
  if (found === null) return undefined;
  const letter = found[1] === "-" ? undefined : (found[1] as Letter);
  return { letter, undone: found[2] === "u" };
}
