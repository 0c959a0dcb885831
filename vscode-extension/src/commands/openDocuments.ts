// The documents of this window that have text which is not saved: of text editors, notebooks and custom editors.

import { realpathSync } from "node:fs";
import path from "node:path";
import * as vscode from "vscode";
import { Refused } from "../acting/errors";
import type { UnsavedDocument } from "../acting/unsaved";

/** The documents of files with text that is not saved. */
export function unsavedDocuments(): readonly UnsavedDocument[] {
  const uris = new Map<string, vscode.Uri>();
  const add = (uri: vscode.Uri): void => {
    if (uri.scheme === "file") uris.set(uri.toString(), uri);
  };
  for (const document of vscode.workspace.textDocuments) if (document.isDirty) add(document.uri);
  for (const notebook of vscode.workspace.notebookDocuments) if (notebook.isDirty) add(notebook.uri);
  for (const tab of allTabs()) {
    if (tab.isDirty && tab.input instanceof vscode.TabInputCustom) add(tab.input.uri);
  }
  return [...uris.values()].map((uri) => ({
    uri: uri.toString(),
    name: vscode.workspace.asRelativePath(uri),
    paths: [...new Set([uri.fsPath, withoutLinks(uri.fsPath)])],
  }));
}

/** Saves documents; throws `Refused` where one could not be saved. */
export async function saveDocuments(documents: readonly UnsavedDocument[]): Promise<void> {
  for (const { uri, name } of documents) {
    const text = textDocument(uri);
    const notebook = notebookDocument(uri);
    if (text !== undefined) await text.save();
    else if (notebook !== undefined) await notebook.save();
    else await vscode.workspace.save(vscode.Uri.parse(uri));
    if (isUnsaved(uri)) throw new Refused(`${name} could not be saved.`);
  }
}

/** Reloads documents from disk; throws `Refused` if one still has unsaved text. */
export async function discardDocuments(documents: readonly UnsavedDocument[]): Promise<void> {
  for (const { uri, name } of documents) {
    // the command is about the editor that has the focus
    await focus(uri);
    await vscode.commands.executeCommand("workbench.action.files.revert");
    if (isUnsaved(uri)) throw new Refused(`The changes of ${name} could not be discarded.`);
  }
}

async function focus(uri: string): Promise<void> {
  const text = textDocument(uri);
  const notebook = notebookDocument(uri);
  if (text !== undefined) {
    await vscode.window.showTextDocument(text, { preview: false });
  } else if (notebook !== undefined) {
    await vscode.window.showNotebookDocument(notebook, { preview: false });
  } else {
    const tab = allTabs().find(({ input }) => input instanceof vscode.TabInputCustom && input.uri.toString() === uri);
    const viewType = tab?.input instanceof vscode.TabInputCustom ? tab.input.viewType : "default";
    await vscode.commands.executeCommand("vscode.openWith", vscode.Uri.parse(uri), viewType);
  }
}

function isUnsaved(uri: string): boolean {
  return unsavedDocuments().some((document) => document.uri === uri);
}

function textDocument(uri: string): vscode.TextDocument | undefined {
  return vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri);
}

function notebookDocument(uri: string): vscode.NotebookDocument | undefined {
  return vscode.workspace.notebookDocuments.find((notebook) => notebook.uri.toString() === uri);
}

function allTabs(): readonly vscode.Tab[] {
  return vscode.window.tabGroups.all.flatMap((group) => group.tabs);
}

/** A path without symlinks on the way; its file may be gone. */
function withoutLinks(file: string): string {
  for (const [above, rest] of [
    [file, ""],
    [path.dirname(file), path.basename(file)],
  ] as const) {
    try {
      return path.join(realpathSync.native(above), rest);
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
    }
  }
  return file;
}
