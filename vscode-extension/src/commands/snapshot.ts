// Snapshots on demand.

import { type Skipped, reasonText } from "@snapd/client";
import { Refused } from "../acting/errors";
import { absolutePath, exactName, listed, snapshotName } from "../acting/names";
import type { Notice } from "../acting/ui";
import { counted } from "../model/wording";
import { chooseFolder } from "./choosing";
import type { CommandHost } from "./host";

const DETAILS = "Details";

/** Takes a snapshot, and reports its hash and what it leaves out. */
export async function snapshotNow(host: CommandHost): Promise<void> {
  const folder = await chooseFolder(host, "Snapshot Now");
  if (folder === undefined) return;
  const { ui } = host.world;
  await host.world.flush();
  const root = `${absolutePath(folder.uri, { file: "" }).replace(/\/$/, "")}/`;
  const unsaved = ui.unsaved().filter(({ paths }) => paths.some((path) => path.startsWith(root)));
  const { hash, skipped } = await ui.busy("Taking a snapshot", () => folder.request("snapshot/track", {}));
  if (hash === null) throw new Refused(`Snapshots are off for ${folder.name}.`);
  const sentences = [`Took ${snapshotName(hash)} of ${folder.name}.`];
  const [first] = skipped;
  if (first !== undefined) {
    const what = skipped.length === 1 ? `: ${first.file} (${reasonText(first.reason)})` : "";
    sentences.push(`${counted(skipped.length, "file was", "files were")} skipped${what}.`);
  }
  if (unsaved.length > 0)
    sentences.push(`It does not contain the unsaved text of ${listed(unsaved.map(({ name }) => name))}.`);
  const notice: Notice = {
    severity: sentences.length > 1 ? "warning" : "info",
    message: sentences.join(" "),
    buttons: skipped.length > 1 ? [DETAILS] : [],
  };
  host.world.later(report(host, folder.uri, notice, skipped));
}

async function report(host: CommandHost, folder: string, notice: Notice, skipped: readonly Skipped[]): Promise<void> {
  const { ui } = host.world;
  if ((await host.acting.notify(notice)) !== DETAILS) return;
  const chosen = await ui.choose({
    title: "Skipped by the Snapshot",
    rows: skipped.map((skip) => ({ label: skip.file, description: reasonText(skip.reason), value: skip })),
  });
  if (chosen !== undefined) await host.acting.attempt("open the file", () => ui.open(folder, exactName(chosen)));
}
