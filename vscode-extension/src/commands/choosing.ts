// Chooses the folder, step and file of a command that was called without them.

import { agentTitle, type FileChange, type Step } from "@snapd/client";
import type { ActingFolder } from "../acting/action";
import { Refused } from "../acting/errors";
import { exactName } from "../acting/names";
import type { Turn } from "../model/turns";
import { capitalized, counted, inList, stateInWords, stepInSentence, takenBack, turnName } from "../model/wording";
import type { CommandHost } from "./host";

/** That of the active editor, or the only one; else the user is asked. */
export async function chooseFolder(host: CommandHost, title: string): Promise<ActingFolder | undefined> {
  const folders = host.folders();
  const shown = host.shown();
  const active = folders.find((folder) => folder.uri === shown?.folder);
  if (active !== undefined) return active;
  const [only, ...others] = folders;
  if (only === undefined) throw new Refused(host.absence());
  if (others.length === 0) return only;
  return host.world.ui.choose({
    title,
    placeholder: "Choose a folder",
    rows: folders.map((folder) => ({ label: folder.name, value: folder })),
  });
}

/** Asks for a step of a folder; undefined where the user cancelled. */
export async function chooseStep(
  host: CommandHost,
  folder: ActingFolder,
  title: string,
  isMeant: (step: Step) => boolean,
): Promise<Step | undefined> {
  const steps = folder.entries.flatMap(({ step }) => (step !== undefined && isMeant(step) ? [step] : []));
  if (steps.length === 0) throw new Refused(`There is no such step in ${folder.name}.`);
  return host.world.ui.choose({
    title,
    placeholder: "Choose a step",
    rows: steps.map((step) => ({
      label: inList(capitalized(stepInSentence(step))),
      description: [step.agent && agentTitle(step.agent), step.state === "applied" ? undefined : stateInWords(step)]
        .filter(Boolean)
        .join(" · "),
      detail: (step.files ?? []).map(({ file }) => file).join(", "),
      value: step,
    })),
  });
}

/** Asks for a turn of a folder; undefined where the user cancelled. */
export async function chooseTurn(
  host: CommandHost,
  folder: ActingFolder,
  title: string,
  isMeant: (turn: Turn) => boolean,
): Promise<Turn | undefined> {
  const turns = folder.turns.filter(isMeant);
  if (turns.length === 0) throw new Refused(`There is no such turn in ${folder.name}.`);
  return host.world.ui.choose({
    title,
    placeholder: "Choose a turn",
    rows: turns.map((turn) => ({
      label: inList(turnName(turn)),
      description: [counted(turn.steps.length, "step"), takenBack(turn)].filter(Boolean).join(" · "),
      detail: [...new Set(turn.changes.map(({ file }) => file))].join(", "),
      value: turn,
    })),
  });
}

/** Asks for a file of a step, where it has several. */
export async function chooseFile(host: CommandHost, step: Step, title: string): Promise<FileChange | undefined> {
  const files = (step.files ?? []).filter(({ byGit }) => byGit !== true);
  const [only, ...others] = files;
  if (only === undefined) throw new Refused(`${capitalized(stepInSentence(step))} changed no file.`);
  if (others.length === 0) return only;
  return host.world.ui.choose({
    title,
    placeholder: "Choose a file",
    rows: files.map((file) => ({ label: file.file, description: file.status, value: file })),
  });
}

/** Whether a step can be undone and that would do something. */
export function isUndoable(step: Step): boolean {
  const changed = (step.files ?? []).length > 0 || step.git !== undefined;
  return (step.state === "applied" || step.state === "partly") && changed;
}

/** Whether a step changed the file of this exact name. */
export function changed(step: Step, name: string): boolean {
  return (step.files ?? []).some((file) => exactName(file) === name);
}
