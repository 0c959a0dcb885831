// Keeps or undoes pending changes of agents.

import type { Params, PendingFile } from "@snapd/client";
import { counted } from "../model/wording";
import { type ActingFolder, type Action, always } from "./action";
import { Refused } from "./errors";
import { exactName, listed } from "./names";
import { takeBackOperation } from "./takingBack";
import { documentsAtRisk } from "./unsaved";
import type { World } from "./world";

/** A file with pending changes, as shown to the user. */
export type ShownPending = Pick<PendingFile, "file" | "uri" | "id">;

/** Hunks of one file, or whole files. */
export interface Choice {
  readonly files: readonly ShownPending[];
  /** The indexes of hunks of the only file; undefined for all that is pending in the files. */
  readonly hunks?: readonly number[];
}

/** The selection, for a sentence. */
export function choiceInSentence({ files, hunks }: Choice): string {
  const names = listed(files.map(({ file }) => file));
  return hunks === undefined ? `the pending changes of ${names}` : `${counted(hunks.length, "hunk")} of ${names}`;
}

/** Makes files, or hunks of them, what their baseline is; refused where they are not as they were shown. */
export function undoPending(folder: string, choice: Choice): Action {
  const what = choiceInSentence(choice);
  return {
    folder,
    aim: `undo ${what}`,
    done: () => `Undid ${what}`,
    plan: always({ method: "review/revert", params: { ...paramsOf(choice), onConflict: "merge" } }),
    goal: () => ({ text: "what it was before the pending changes" }),
    undoing: (acted) => takeBackOperation(folder, `the undo of ${what}`, acted, acted, "session/undo"),
  };
}

/**
 * Makes pending changes part of the baseline. No file is changed.
 *
 * @throws Refused - an editor has unsaved text of one of the files, or one of them has changed since it was shown; nothing was
 *   kept then.
 * @throws SnapdError, ConnectionLostError: see `SnapdClient.request`.
 */
export async function keepPending(folder: ActingFolder, choice: Choice, world: World): Promise<void> {
  await world.flush();
  refuseUnsaved(folder, choice, world);
  await folder.request("review/keep", paramsOf(choice));
}

/** Refuses to decide about files with unsaved text: the shown text is not the one on disk. */
export function refuseUnsaved({ uri }: Pick<ActingFolder, "uri">, { files }: Choice, { ui }: World): void {
  const written = files.map(({ file }) => ({ file, outcome: "restored" as const }));
  const unsaved = documentsAtRisk(uri, written, ui.unsaved()).map(({ name }) => name);
  if (unsaved.length === 0) return;
  const [have, them] = unsaved.length === 1 ? ["has", "it"] : ["have", "them"];
  throw new Refused(`${listed(unsaved)} ${have} unsaved text. Save ${them} first; what you typed is yours and stays.`);
}

function paramsOf({ files, hunks }: Choice): Omit<Params<"review/keep">, "workspaceUri"> {
  const expect = Object.fromEntries(files.map((file) => [exactName(file), file.id]));
  const [only] = files;
  if (hunks === undefined || only === undefined) return { files: files.map(exactName), expect };
  return { file: exactName(only), hunks: [...hunks], expect };
}
