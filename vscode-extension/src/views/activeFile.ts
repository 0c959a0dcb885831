// Which file the user looks at.

import {
  TabInputCustom,
  TabInputNotebook,
  TabInputNotebookDiff,
  TabInputText,
  TabInputTextDiff,
  type Uri,
  window,
} from "vscode";
import { SCHEME, placeOf } from "../documents/uris";
import { relativeName } from "../model/fileUris";
import type { FolderModel } from "../model/folder";
import type { WorkspaceModel } from "../model/workspace";

/** A file of a folder. */
export interface Followed {
  readonly folder: FolderModel;
  /** Its name within the folder, as in the daemon's changes. */
  readonly file: string;
}

/**
 * What the active editor shows.
 *
 * @param before - the answer for a tab of which VS Code does not tell what is in it, as of a diff of images.
 */
export function activeUri(before: Uri | undefined): Uri | undefined {
  const tab = window.tabGroups.activeTabGroup.activeTab;
  const input = tab?.input;
  if (input instanceof TabInputText || input instanceof TabInputCustom || input instanceof TabInputNotebook) {
    return input.uri;
  }
  if (input instanceof TabInputTextDiff || input instanceof TabInputNotebookDiff) return input.modified;
  return tab !== undefined && input === undefined ? (window.activeTextEditor?.document.uri ?? before) : undefined;
}

/** The file of a folder that a URI names: itself on disk, or as a snapshot has it. */
export function followedBy(model: WorkspaceModel, uri: Uri): Followed | undefined {
  if (uri.scheme === "file") {
    const folder = model.folderOf(uri.toString());
    return named(folder, folder === undefined ? undefined : relativeName(folder.uri, uri.toString()));
  }
  const place = uri.scheme === SCHEME ? placeOf(uri.toString()) : undefined;
  if (place === undefined) return undefined;
  const folder = model.folders.find((each) => each.uri === place.folder);
  const file = place.file.startsWith("file:") ? relativeName(place.folder, place.file) : place.file;
  return named(folder, file);
}

function named(folder: FolderModel | undefined, file: string | undefined): Followed | undefined {
  return folder === undefined || file === undefined ? undefined : { folder, file };
}
