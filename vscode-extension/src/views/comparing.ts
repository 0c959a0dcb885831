// Compares any two snapshots.

import { type QuickPickItem, window } from "vscode";
import { openTrees } from "../documents/diffs";
import type { FolderModel } from "../model/folder";
import { lowered } from "../model/wording";
import type { WorkspaceModel } from "../model/workspace";
import { chooseFolder, entryName } from "./choosing";
import { type SnapshotPick, pastedHash, snapshotPicks } from "./snapshotPicks";

const CURRENT: SnapshotPick = { label: "Current files", description: "", hash: undefined };

/**
 * Asks for two snapshots, and opens what differs.
 *
 * @throws SnapdError, ConnectionLostError: see `SnapdClient.request`.
 */
export async function compareSnapshots(model: WorkspaceModel): Promise<void> {
  const folder = await chooseFolder(model);
  if (folder === undefined) return;
  const from = await chooseSnapshot(folder, "Choose a snapshot to compare, or paste a hash", []);
  if (from?.hash === undefined) return;
  const to = await chooseSnapshot(folder, `Compare ${lowered(from.label)} with...`, [CURRENT]);
  if (to === undefined) return;
  await openTrees(folder, from.hash, to.hash, `${from.label} ↔ ${lowered(to.label)}`);
}

function chooseSnapshot(
  folder: FolderModel,
  placeholder: string,
  first: readonly SnapshotPick[],
): Promise<SnapshotPick | undefined> {
  const picks = [...first, ...snapshotPicks(folder.entries, (entry) => entryName(folder, entry), Date.now())];
  const input = window.createQuickPick<SnapshotPick & QuickPickItem>();
  input.placeholder = placeholder;
  input.matchOnDescription = true;
  input.items = picks;
  return new Promise((resolve) => {
    input.onDidChangeValue((value) => {
      const hash = pastedHash(value);
      input.items =
        hash === undefined
          ? picks
          : [{ label: `Snapshot ${hash.slice(0, 7)}`, description: hash, hash, alwaysShow: true }, ...picks];
    });
    input.onDidAccept(() => {
      resolve(input.activeItems[0]);
      input.hide();
    });
    input.onDidHide(() => {
      resolve(undefined);
      input.dispose();
    });
    input.show();
  });
}
