// The commands that look and change nothing, but for those that filter the view.

import { type ExtensionContext, Uri, commands, env, window } from "vscode";
import {
  exists,
  openDocumentWithCurrent,
  openable,
  openEntryDiff,
  openFileDiff,
  openTurnDiff,
  openWithCurrent,
} from "../documents/diffs";
import { SCHEME, type Place, placeOf } from "../documents/uris";
import { changeNamed, spanOf } from "../model/changes";
import type { FolderModel } from "../model/folder";
import type { WorkspaceModel } from "../model/workspace";
import { activeUri, followedBy } from "../views/activeFile";
import { chooseChange, chooseEntry, chooseTurn } from "../views/choosing";
import { compareSnapshots } from "../views/comparing";
import type { Item, TurnItem } from "../views/items";

/** Registers the looking commands. */
export function registerLookingCommands(context: ExtensionContext, model: WorkspaceModel): void {
  const register = (id: string, action: (target: Item | Uri | undefined) => Promise<void>) => {
    context.subscriptions.push(
      commands.registerCommand(id, async (target?: Item | Uri) => {
        try {
          await action(target);
        } catch (error) {
          void window.showErrorMessage(error instanceof Error ? error.message : String(error));
        }
      }),
    );
  };
  register("snapd.openFileDiff", (target) => openChange(model, target));
  register("snapd.openStepDiff", async (target) => {
    const chosen = entryOf(target) ?? (await chooseEntry(model));
    if (chosen?.entry !== undefined) await openEntryDiff(chosen.folder, chosen.entry);
  });
  register("snapd.openTurnDiff", async (target) => {
    const chosen = turnOf(target) ?? (await chooseTurn(model, ({ changes }) => changes.length > 0));
    if (chosen !== undefined) await openTurnDiff(chosen.folder, chosen.turn);
  });
  register("snapd.compareWithCurrent", (target) => compareWithCurrent(model, target));
  register("snapd.openFile", (target) => openFile(model, target));
  register("snapd.copyHash", async (target) => {
    const chosen = entryOf(target) ?? (await chooseEntry(model));
    if (chosen?.entry === undefined) return;
    const { before, after } = spanOf(chosen.entry);
    await env.clipboard.writeText(after ?? before);
  });
  register("snapd.copyPrompt", async (target) => {
    const chosen = turnOf(target) ?? (await chooseTurn(model, ({ text }) => text !== undefined));
    if (chosen?.turn.text !== undefined) await env.clipboard.writeText(chosen.turn.text);
  });
  register("snapd.compareSnapshots", () => compareSnapshots(model));
  register("snapd.refresh", () => model.refresh());
}

async function openChange(model: WorkspaceModel, target: Item | Uri | undefined): Promise<void> {
  const chosen = itemOf(target) ?? (await chooseChange(model));
  if (chosen?.entry !== undefined && chosen.file !== undefined) {
    await openFileDiff(chosen.folder, chosen.entry, chosen.file);
  }
}

async function compareWithCurrent(model: WorkspaceModel, target: Item | Uri | undefined): Promise<void> {
  const shown = shownDocument(model, target);
  if (shown !== undefined) {
    await openDocumentWithCurrent(shown.folder, shown.place);
    return;
  }
  const chosen = itemOf(target) ?? (await chooseChange(model));
  if (chosen?.entry === undefined || chosen.file === undefined) return;
  await openWithCurrent(chosen.folder, chosen.entry, chosen.file);
}

async function openFile(model: WorkspaceModel, target: Item | Uri | undefined): Promise<void> {
  const shown = shownDocument(model, target);
  const item = itemOf(target);
  const file = shown === undefined ? item?.file : changeNamed(shown.place.file);
  const folder = shown?.folder ?? item?.folder;
  if (file === undefined || folder === undefined) return;
  const uri = openable(folder, file);
  if (await exists(uri)) await commands.executeCommand("vscode.open", uri);
  else void window.showInformationMessage(`${file.file} is not there any more.`);
}

/** The item that a command was called on. */
function itemOf(target: Item | Uri | undefined): Item | undefined {
  return target instanceof Uri ? undefined : target;
}

/** The item, where it is one of an entry. */
function entryOf(target: Item | Uri | undefined): Item | undefined {
  const item = itemOf(target);
  return item?.entry === undefined ? undefined : item;
}

/** The turn that a command was called on. */
function turnOf(target: Item | Uri | undefined): TurnItem | undefined {
  const item = itemOf(target);
  return item?.kind === "turn" ? item : undefined;
}

/** The read-only document that a command was called on; or that of the active editor, where it was called on nothing. */
function shownDocument(
  model: WorkspaceModel,
  target: Item | Uri | undefined,
): { readonly folder: FolderModel; readonly place: Place } | undefined {
  const uri = target === undefined ? activeUri(undefined) : target instanceof Uri ? target : undefined;
  if (uri?.scheme !== SCHEME) return undefined;
  const place = placeOf(uri.toString());
  const folder = followedBy(model, uri)?.folder;
  return place === undefined || folder === undefined ? undefined : { folder, place };
}
