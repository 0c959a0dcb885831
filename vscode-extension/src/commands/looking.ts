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
import { openAllPending, openPendingDiff } from "../documents/pendingDiffs";
import { SCHEME, type Place, nameNow, placeOf } from "../documents/uris";
import { changeNamed, requestName, spanOf } from "../model/changes";
import type { FolderModel } from "../model/folder";
import type { WorkspaceModel } from "../model/workspace";
import { activeUri, followedBy } from "../views/activeFile";
import { chooseChange, chooseEntry, chooseFolder, chooseTurn } from "../views/choosing";
import { compareSnapshots } from "../views/comparing";
import type { Item, TurnItem } from "../views/items";
import type { PendingFileItem, PendingItem } from "../views/pendingTree";

/** What a command was called on: a row, what a menu of an editor shows, or nothing. */
type Target = Item | PendingItem | Uri | undefined;

/** Registers the looking commands. */
export function registerLookingCommands(context: ExtensionContext, model: WorkspaceModel): void {
  const register = (id: string, action: (target: Target) => Promise<void>) => {
    context.subscriptions.push(
      commands.registerCommand(id, async (target?: Target) => {
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
  register("snapd.openPending", (target) => openPending(model, target));
  register("snapd.showMorePending", async (target) => {
    if (isPending(target)) await target.folder.review.showMore();
  });
  register("snapd.reviewAll", async () => {
    const folder = await chooseFolder(model);
    if (folder !== undefined) await openAllPending(folder, await folder.review.all());
  });
  register("snapd.refresh", () => model.refresh());
}

async function openChange(model: WorkspaceModel, target: Target): Promise<void> {
  const chosen = itemOf(target) ?? (await chooseChange(model));
  if (chosen?.entry !== undefined && chosen.file !== undefined) {
    await openFileDiff(chosen.folder, chosen.entry, chosen.file);
  }
}

async function compareWithCurrent(model: WorkspaceModel, target: Target): Promise<void> {
  const shown = shownDocument(model, target);
  if (shown !== undefined) {
    await openDocumentWithCurrent(shown.folder, shown.place);
    return;
  }
  const chosen = itemOf(target) ?? (await chooseChange(model));
  if (chosen?.entry === undefined || chosen.file === undefined) return;
  await openWithCurrent(chosen.folder, chosen.entry, chosen.file);
}

/** Opens what is pending in a file: that of the row, or of the active editor. */
async function openPending(model: WorkspaceModel, target: Target): Promise<void> {
  const row = pendingOf(target);
  if (row !== undefined) {
    await openPendingDiff(row.folder, row.pending);
    return;
  }
  const uri = target instanceof Uri ? target : activeUri(undefined);
  const followed = uri === undefined ? undefined : followedBy(model, uri);
  const files = followed === undefined ? [] : await followed.folder.review.all();
  const pending = files.find((file) => requestName(file) === followed?.name);
  if (followed !== undefined && pending !== undefined) await openPendingDiff(followed.folder, pending);
  else void window.showInformationMessage("Nothing is pending in the file in the active editor.");
}

async function openFile(model: WorkspaceModel, target: Target): Promise<void> {
  const shown = shownDocument(model, target);
  const [item, row] = [itemOf(target), pendingOf(target)];
  const file = shown === undefined ? (item?.file ?? row?.pending) : changeNamed(nameNow(shown.place));
  const folder = shown?.folder ?? item?.folder ?? row?.folder;
  if (file === undefined || folder === undefined) return;
  const uri = openable(folder, file);
  if (await exists(uri)) await commands.executeCommand("vscode.open", uri);
  else void window.showInformationMessage(`${file.file} no longer exists.`);
}

/** The item that a command was called on. */
function itemOf(target: Target): Item | undefined {
  return target instanceof Uri || isPending(target) ? undefined : target;
}

/** The row with pending changes that a command was called on. */
function pendingOf(target: Target): PendingFileItem | undefined {
  return isPending(target) && target.kind === "pending" ? target : undefined;
}

function isPending(target: Target): target is PendingItem {
  if (target === undefined || target instanceof Uri) return false;
  return target.kind === "pending" || target.kind === "pendingFolder" || target.kind === "morePending";
}

/** The item, where it is one of an entry. */
function entryOf(target: Target): Item | undefined {
  const item = itemOf(target);
  return item?.entry === undefined ? undefined : item;
}

/** The turn that a command was called on. */
function turnOf(target: Target): TurnItem | undefined {
  const item = itemOf(target);
  return item?.kind === "turn" ? item : undefined;
}

/** The read-only document that a command was called on; or that of the active editor, where it was called on nothing. */
function shownDocument(
  model: WorkspaceModel,
  target: Target,
): { readonly folder: FolderModel; readonly place: Place } | undefined {
  const uri = target === undefined ? activeUri(undefined) : target instanceof Uri ? target : undefined;
  if (uri?.scheme !== SCHEME) return undefined;
  const place = placeOf(uri.toString());
  const folder = followedBy(model, uri)?.folder;
  return place === undefined || folder === undefined ? undefined : { folder, place };
}
