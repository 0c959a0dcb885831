// Registers the documents.

import { type ExtensionContext, workspace } from "vscode";
import type { FolderModel } from "../model/folder";
import type { WorkspaceModel } from "../model/workspace";
import { Baselines } from "./baselines";
import { Contents } from "./contents";
import { SnapshotFileSystem } from "./fileSystem";
import { SCHEME } from "./uris";

const PATIENCE = 15_000;

/** Registers the read-only file system. */
export function registerDocuments(context: ExtensionContext, model: WorkspaceModel): void {
  const find = (uri: string): Promise<FolderModel> => opened(model, uri);
  const baselines = new Baselines(find);
  const provider = new SnapshotFileSystem(new Contents(find), baselines);
  context.subscriptions.push(
    baselines,
    workspace.registerFileSystemProvider(SCHEME, provider, { isReadonly: true, isCaseSensitive: true }),
  );
}

/** A folder by its URI; editors that a window restores are read before there is a connection. */
function opened(model: WorkspaceModel, uri: string): Promise<FolderModel> {
  const find = () => model.folders.find((folder) => folder.uri === uri);
  const now = find();
  if (now !== undefined) return Promise.resolve(now);
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      subscription.dispose();
      reject(new Error(`snapd is not connected, or ${uri} is not open in this window`));
    }, PATIENCE);
    const subscription = model.onDidChange(() => {
      const folder = find();
      if (folder === undefined) return;
      clearTimeout(timer);
      subscription.dispose();
      resolve(folder);
    });
  });
}
