// What happened to one file.

import type { ChangedFile } from "../model/changes";
import type { FolderModel } from "../model/folder";
import { entryItem, fileItem } from "./arrange";
import type { Shown } from "./differing";
import { type FileItem, contextValue } from "./items";
import { presentInTimeline } from "./presentation";

/**
 * All that touched a file, newest first.
 *
 * @param file - relative to the folder.
 */
export function timelineOf(folder: FolderModel, file: string): readonly FileItem[] {
  const found: FileItem[] = [];
  for (const entry of folder.entries) {
    const change: ChangedFile | undefined = entry.files.find((each) => each.file === file);
    if (change !== undefined) found.push(fileItem(entryItem(folder, entry, []), change));
  }
  return found;
}

/**
 * The same as the nodes of a view.
 *
 * @param now - milliseconds since 1970.
 */
export function timelineTree(folder: FolderModel, file: string, now: number): readonly Shown<FileItem>[] {
  return timelineOf(folder, file).map((item) => ({
    item,
    look: [JSON.stringify(presentInTimeline(item, now)), contextValue(item)],
    below: [],
  }));
}
