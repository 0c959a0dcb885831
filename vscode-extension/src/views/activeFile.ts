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
import { SCHEME, nameNow, placeOf } from "../documents/uris";
import { relativeName } from "../model/fileUris";
import type { FileIn, WorkspaceModel } from "../model/workspace";

/**
 * What the active editor shows.
 *
 * @param before - the answer for a tab whose content VS Code does not report, such as a diff of images.
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
export function followedBy(model: WorkspaceModel, uri: Uri): FileIn | undefined {
  if (uri.scheme !== SCHEME) return model.fileOf(uri.toString());
  const place = placeOf(uri.toString());
  const folder = model.folders.find((each) => each.uri === place?.folder);
  if (place === undefined || folder === undefined) return undefined;
  const file = nameNow(place);
  const name = file.startsWith("file:") ? relativeName(place.folder, file) : file;
  return name === undefined ? undefined : { folder, name };
}
