// What an action did, file by file.

import type { FileOutcome, OutcomeKind } from "@snapd/client";
import { capitalized } from "../model/wording";
import { exactName, snapshotName } from "./names";
import { outcomeText, written } from "./outcomes";
import type { Performed } from "./perform";
import type { Ui } from "./ui";

// what needs a look comes first
const ORDER: readonly OutcomeKind[] = [
  "failed",
  "skipped",
  "conflict",
  "kept",
  "merged",
  "restored",
  "deleted",
  "unchanged",
];

/** Lists the files and opens the selected one: its change, or the file itself if nothing was written. */
export async function showDetails({ action, acted }: Performed, ui: Ui): Promise<void> {
  const { before, after } = acted;
  const files = [...acted.files].sort((one, other) => ORDER.indexOf(one.outcome) - ORDER.indexOf(other.outcome));
  const chosen = await ui.choose<FileOutcome>({
    title: action.done(acted),
    placeholder: `The files before that stay in ${snapshotName(before)}`,
    rows: files.map((file) => ({ label: file.file, description: capitalized(outcomeText(file)), value: file })),
  });
  if (chosen === undefined) return;
  if (written([chosen]).length === 0) {
    await ui.open(action.folder, exactName(chosen));
    return;
  }
  await ui.compare({
    folder: action.folder,
    file: exactName(chosen),
    left: { hash: before },
    right: { hash: after },
    title: `${chosen.file} (${action.done(acted)})`,
  });
}
