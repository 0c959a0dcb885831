// Going back to before a step with the whole workspace: what that would do is shown first, and asked.

import type { FileDiff, FileOutcome, OnConflict, Step } from "@snapd/client";
import { type ActingFolder, foretell } from "../acting/action";
import { differences } from "../acting/differences";
import { exactName, listed } from "../acting/names";
import { plannedChangesText, plannedText, written } from "../acting/outcomes";
import { restoreBefore } from "../acting/pieces";
import { capitalized, counted, lines, stepInSentence } from "../model/wording";
import { chooseFolder, chooseStep } from "./choosing";
import type { CommandHost, Target } from "./host";

const RESTORE = "Restore";
const RESTORE_ALL = "Restore All";
const KEEP_LATER = "Restore, Keep Later Changes";
const CHANGED = "Something has changed since. ";

/** What a restore would do. */
interface Preview {
  readonly folder: ActingFolder;
  readonly step: Step;
  /** A snapshot of the current work tree. */
  readonly now: string;
  /** The planned outcomes of the files. */
  readonly files: readonly FileOutcome[];
  /** Those of them that would become something else where later changes are kept. */
  readonly later: readonly FileOutcome[];
  /** From now to before the step, by exact name. */
  readonly diffs: ReadonlyMap<string, FileDiff>;
  /** What exactly would be done: to all files, and where later changes are kept. */
  readonly plans: { readonly all: string | undefined; readonly careful: string | undefined };
  /** Something to know before. */
  readonly note: string;
}

/** Makes the work tree what it was before a step. */
export function restoreWorkspace(host: CommandHost, target: Target | undefined): Promise<void> {
  return restore(host, target, "");
}

/** @param note - something to know before, as a sentence. */
async function restore(host: CommandHost, target: Target | undefined, note: string): Promise<void> {
  const title = "Restore Workspace";
  const folder = target === undefined ? await chooseFolder(host, title) : host.world.folder(target.folder.uri);
  if (folder === undefined) return;
  const step = target?.step ?? (await chooseStep(host, folder, title, () => true));
  if (step === undefined) return;
  const preview = await foresee(host, folder, step, note);
  if (preview.files.length === 0) {
    const message = `${folder.name} is as it was before ${stepInSentence(step)}: no file has to be changed.`;
    host.world.later(host.acting.notify({ severity: "info", message, buttons: [] }));
    return;
  }
  if (!(await show(host, preview))) return;
  const answer = await confirm(host, preview);
  if (answer === undefined) return;
  const onConflict: OnConflict | undefined = answer === KEEP_LATER ? "keep" : undefined;
  await host.acting.act(
    restoreBefore(folder.uri, step, onConflict, {
      plan: answer === KEEP_LATER ? preview.plans.careful : preview.plans.all,
      again: () => restore(host, { folder, step }, CHANGED),
    }),
  );
}

async function foresee(host: CommandHost, folder: ActingFolder, step: Step, note: string): Promise<Preview> {
  await host.world.flush();
  const hash = step.from;
  const exact = await foretell(folder, { method: "snapshot/restore", params: { hash } });
  const careful = await foretell(folder, { method: "snapshot/restore", params: { hash, onConflict: "keep" } });
  const files = exact.files.filter((file) => file.outcome !== "unchanged");
  const spared = new Map(careful.files.map((file) => [exactName(file), file.outcome]));
  const later = written(files).filter((file) => spared.get(exactName(file)) !== file.outcome);
  const diffs = await differences(folder, exact.before, step.from, files.map(exactName));
  const plans = { all: exact.plan, careful: careful.plan };
  return { folder, step, now: exact.before, files, later, diffs, plans, note };
}

/** Shows the planned outcome of each file; false if the user cancelled. */
async function show(host: CommandHost, { folder, step, now, files, diffs, note }: Preview): Promise<boolean> {
  const place = `before ${stepInSentence(step)}`;
  for (;;) {
    const chosen = await host.world.ui.choose<FileOutcome | "go" | "all">({
      title: `Restore ${folder.name} to ${place}`,
      placeholder: `${note}${capitalized(plannedChangesText(files))}. Choose a file to see what would become of it`,
      rows: [
        { label: "$(history) Restore...", description: plannedChangesText(files), value: "go" },
        { label: "$(diff-multiple) Open All Changes", value: "all" },
        ...files.map((file) => ({
          label: file.file,
          description: `${plannedText(file)} ${linesOf(diffs.get(exactName(file)))}`.trimEnd(),
          value: file,
        })),
      ],
    });
    if (chosen === undefined) return false;
    if (chosen === "go") return true;
    const title = `now ↔ ${place}`;
    if (chosen === "all") {
      await host.world.ui.compareAll({
        folder: folder.uri,
        left: now,
        right: step.from,
        files: [...diffs.keys()],
        title: `${folder.name} (${title})`,
      });
    } else {
      await host.world.ui.compare({
        folder: folder.uri,
        file: exactName(chosen),
        left: { hash: now },
        right: { hash: step.from },
        title: `${chosen.file} (${title})`,
      });
    }
  }
}

function confirm(host: CommandHost, { folder, step, files, later, note }: Preview): Promise<string | undefined> {
  const names = listed(later.map(({ file }) => file));
  const changedSince =
    later.length === 0
      ? ""
      : ` ${counted(later.length, "file was", "files were")} changed since the last snapshot: ${names}.`;
  return host.world.ui.ask({
    message: `Restore ${folder.name} to before ${stepInSentence(step)}?`,
    detail: `${note}${capitalized(plannedChangesText(files))}.${changedSince} What is there now stays in a snapshot.`,
    choices: later.length === 0 ? [RESTORE] : [RESTORE_ALL, KEEP_LATER],
  });
}

function linesOf(diff: FileDiff | undefined): string {
  return diff === undefined ? "" : lines([diff]);
}
