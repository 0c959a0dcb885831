// What the active editor shows: a file of a step, or a file on the disk.

import * as vscode from "vscode";
import { linesSelected } from "../model/hunks";
import { nameNow, placeOf, SCHEME } from "../documents/uris";
import { linesOf } from "../model/documentLines";
import type { WorkspaceModel } from "../model/workspace";
import type { ShownFile } from "./host";

/**
 * The file that the active editor shows.
 *
 * @param given - what a menu of the editor says that it shows.
 */
export function shownFile(model: WorkspaceModel, given: vscode.Uri | undefined): ShownFile | undefined {
  const editor = vscode.window.activeTextEditor;
  const uris = [editor?.document.uri, ...tabUris(), given].filter((uri) => uri !== undefined);
  const uri = uris.find(({ scheme }) => scheme === SCHEME) ?? uris.find(({ scheme }) => scheme === "file");
  if (uri === undefined) return undefined;
  if (uri.scheme === "file") return onDisk(model, uri);
  const place = placeOf(uri.toString());
  if (place === undefined) return undefined;
  const { folder, stepId, side } = place;
  const shown = { folder, file: nameNow(place), ...(stepId !== undefined && { stepId }) };
  if (side === undefined || editor?.document.uri.toString() !== uri.toString()) return shown;
  const { document, selections } = editor;
  return { ...shown, focus: { side, lines: linesOf(document), selected: selections.map(linesSelected) } };
}

function onDisk(model: WorkspaceModel, uri: vscode.Uri): ShownFile | undefined {
  const found = model.fileOf(uri.toString());
  return found === undefined ? undefined : { folder: found.folder.uri, file: found.name };
}

function tabUris(): readonly vscode.Uri[] {
  const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
  if (input instanceof vscode.TabInputTextDiff) return [input.modified, input.original];
  if (input instanceof vscode.TabInputText || input instanceof vscode.TabInputCustom) return [input.uri];
  return [];
}
