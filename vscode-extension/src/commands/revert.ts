// Undoes a file of a step, or some hunks of it.

import type { FileChange, Hunk, Step } from "@snapd/client";
import type { ActingFolder } from "../acting/action";
import { Refused } from "../acting/errors";
import { changedLines, hunksAt, isShownBy } from "../model/hunks";
import { exactName } from "../acting/names";
import { revertFiles, revertHunks } from "../acting/pieces";
import { maybeMoved } from "../model/changes";
import { changed, chooseFile, chooseFolder, chooseStep } from "./choosing";
import type { CommandHost, ShownFile, Target } from "./host";

interface StepFile {
  readonly folder: ActingFolder;
  readonly step: Step;
  readonly file: Pick<FileChange, "file" | "uri">;
}

/**
 * Undoes a step's changes to a file, or to several selected ones.
 *
 * @param selected - all items that are selected, where the command was called on one of several.
 */
export async function revertFile(
  host: CommandHost,
  target: Target | undefined,
  selected: readonly Target[] = [],
): Promise<void> {
  if (selected.length > 1) {
    const { folder, step, files } = together(selected);
    await host.acting.act(revertFiles(host.world.folder(folder.uri).uri, step, files));
    return;
  }
  const found = await find(host, target, host.shown(), "Revert File");
  if (found !== undefined) await host.acting.act(revertFiles(found.folder.uri, found.step, [found.file]));
}

/**
 * Undoes hunks of a step's file: those of the target, or those selected in the diff editor; if there are
 * none, the user is asked.
 */
export async function revertSelected(host: CommandHost, target: Target | undefined): Promise<void> {
  // read the selection now, before the user answers any question
  const shown = target === undefined ? host.shown() : undefined;
  const found = await find(host, target, shown, "Revert Hunks");
  if (found === undefined) return;
  const { folder, step, file } = found;
  if (target?.hunks !== undefined) {
    await host.acting.act(revertHunks(folder.uri, step, file, target.hunks));
    return;
  }
  const { hunks, mixed } = await folder.request("step/hunks", { stepId: step.stepId, file: exactName(file) });
  if (hunks.length === 0) {
    const why = mixed
      ? "others changed the same lines while the step was running"
      : "it is binary, or only its mode changed";
    throw new Refused(`${file.file} has no hunks: ${why}. Use Revert File to revert it.`);
  }
  // the diff of a file that was moved may show other changes than those of each of its names
  const isMoved = maybeMoved(step.files ?? []).some((each) => exactName(each) === exactName(file));
  const isShown = shown?.stepId === step.stepId && shown.file === exactName(file) && !isMoved;
  const chosen = selected(hunks, isShown ? shown.focus : undefined);
  const indexes = chosen.length > 0 ? chosen : await choose(host, file.file, hunks);
  if (indexes === undefined || indexes.length === 0) return;
  await host.acting.act(revertHunks(folder.uri, step, file, indexes));
}

/** The files that are selected, which have to be those of one step. */
function together(targets: readonly Target[]): { folder: Target["folder"]; step: Step; files: StepFile["file"][] } {
  const [first] = targets;
  const step = first?.step;
  const files = targets.flatMap((target) =>
    target.step?.stepId === step?.stepId && target.folder.uri === first?.folder.uri ? (target.file ?? []) : [],
  );
  if (first === undefined || step === undefined || files.length < targets.length) {
    throw new Refused("Snapd reverts files of one step at a time. Select files of one step, or a single file.");
  }
  return { folder: first.folder, step, files };
}

function selected(hunks: readonly Hunk[], focus: ShownFile["focus"]): number[] {
  if (focus === undefined || !isShownBy(focus.lines, hunks, focus.side)) return [];
  return hunksAt(hunks, focus.side, focus.selected).map(({ index }) => index);
}

function choose(host: CommandHost, file: string, hunks: readonly Hunk[]): Promise<readonly number[] | undefined> {
  return host.world.ui.chooseSome({
    title: `Revert Hunks of ${file}`,
    placeholder: "Choose the hunks to revert",
    rows: hunks.map((hunk) => ({
      label: hunk.header,
      detail: changedLines(hunk, 3).join("   "),
      value: hunk.index,
    })),
  });
}

/** The target file of a step: the item's, the active editor's, or one that the user chooses. */
async function find(
  host: CommandHost,
  target: Target | undefined,
  shown: ShownFile | undefined,
  title: string,
): Promise<StepFile | undefined> {
  if (target?.step !== undefined && target.file !== undefined) {
    return { folder: host.world.folder(target.folder.uri), step: target.step, file: target.file };
  }
  const name = target === undefined ? shown?.file : undefined;
  const folder = target === undefined ? await chooseFolder(host, title) : host.world.folder(target.folder.uri);
  if (folder === undefined) return undefined;
  const step = await findStep(host, folder, target?.step, shown, title);
  if (step === undefined) return undefined;
  const file = step.files?.find((each) => exactName(each) === name) ?? (await chooseFile(host, step, title));
  return file === undefined ? undefined : { folder, step, file };
}

async function findStep(
  host: CommandHost,
  folder: ActingFolder,
  step: Step | undefined,
  shown: ShownFile | undefined,
  title: string,
): Promise<Step | undefined> {
  if (step !== undefined) return step;
  const stepId = shown?.stepId;
  if (stepId !== undefined) {
    const known = folder.step(stepId);
    if (known === undefined) throw new Refused("The step that this editor shows is no longer in the history.");
    return known;
  }
  const name = shown?.file;
  const isMeant = (each: Step): boolean => each.state !== "open" && (each.files ?? []).length > 0;
  const ofFile = (each: Step): boolean => isMeant(each) && name !== undefined && changed(each, name);
  const some = folder.entries.some((entry) => entry.step !== undefined && ofFile(entry.step));
  return chooseStep(host, folder, title, some ? ofFile : isMeant);
}
