// The letters and colours of items.

import { FileDecoration, type FileDecorationProvider, ThemeColor, type Uri } from "vscode";
import { type Letter, MARK_SCHEME, markOf } from "./marks";

const LETTERS: Readonly<Record<Letter, { readonly word: string; readonly color: string }>> = {
  A: { word: "Added", color: "gitDecoration.addedResourceForeground" },
  D: { word: "Deleted", color: "gitDecoration.deletedResourceForeground" },
  M: { word: "Modified", color: "gitDecoration.modifiedResourceForeground" },
  R: { word: "Renamed", color: "gitDecoration.renamedResourceForeground" },
};
const UNDONE = "disabledForeground";

/** Decorates what has a `markUri`. It depends on nothing else, so that it never changes. */
export class Decorations implements FileDecorationProvider {
  provideFileDecoration(uri: Uri): FileDecoration | undefined {
    const mark = uri.scheme === MARK_SCHEME ? markOf(uri.query) : undefined;
    if (mark === undefined) return undefined;
    const letter = mark.letter === undefined ? undefined : LETTERS[mark.letter];
    const tooltip = [letter?.word, mark.undone ? "Undone" : undefined].filter((word) => word !== undefined).join(", ");
    const color = mark.undone ? UNDONE : letter?.color;
    return new FileDecoration(mark.letter, tooltip, color === undefined ? undefined : new ThemeColor(color));
  }
}
