// Undo and redo.

import type { ActingFolder } from "../acting/action";
import { Refused } from "../acting/errors";
import { listed } from "../acting/names";
import { redoable, type Redoable } from "../acting/redoable";
import { redoLast, undoStep } from "../acting/steps";
import { goBackToBefore, undoTurn } from "../acting/turns";
import { capitalized, counted, gitInWords, stepInSentence, turnInSentence } from "../model/wording";
import { chooseFolder, chooseStep, chooseTurn, isUndoable } from "./choosing";
import type { CommandHost, Target } from "./host";

const END_AND_UNDO = "End and Undo";
const TAKE_IT_BACK = "Take It Back";
const STEP_BEFORE = "Undo Earlier Step";
const GO_BACK = "Go Back";
const TERMINAL = "Type in Terminal";

/** Undoes the last applied step that changed something, of any session in the folder; asks if that is only git. */
export async function undoLast(host: CommandHost): Promise<void> {
  const folder = await chooseFolder(host, "Undo Last Agent Step");
  if (folder === undefined) return;
  // the notification about the last action may not have arrived yet
  await folder.refresh();
  const step = folder.lastStep();
  const last = folder.entries.find((entry) => entry.step !== undefined && isUndoable(entry.step))?.step;
  if (last !== undefined && (last.files ?? []).length === 0) {
    const answer = await host.world.ui.ask({
      message: `${capitalized(stepInSentence(last))} changed only git. Take it back?`,
      detail: `${capitalized(gitInWords(last.git) ?? "")}.`,
      choices: step === undefined ? [TAKE_IT_BACK] : [TAKE_IT_BACK, STEP_BEFORE],
    });
    if (answer === TAKE_IT_BACK) await host.acting.act(undoStep(folder.uri, last, true));
    if (answer !== STEP_BEFORE) return;
  }
  if (step === undefined) throw new Refused(`No step is left to undo in ${folder.name}.`);
  await host.acting.act(undoStep(folder.uri, step));
}

/** Undoes one step, wherever it is in the history. */
export async function undoOne(host: CommandHost, target: Target | undefined): Promise<void> {
  const folder = target === undefined ? await chooseFolder(host, "Undo Step") : host.world.folder(target.folder.uri);
  if (folder === undefined) return;
  const chosen = target?.step ?? (await chooseStep(host, folder, "Undo Step", isUndoable));
  if (chosen === undefined) return;
  const step = folder.step(chosen.stepId) ?? chosen;
  if (step.state === "open") {
    const answer = await host.world.ui.ask({
      message: `${capitalized(stepInSentence(step))} is still running.`,
      detail: "Snapd ends the step first. Whatever its agent writes after that does not belong to the step, and stays.",
      choices: [END_AND_UNDO],
    });
    if (answer !== END_AND_UNDO) return;
  }
  await host.acting.act(undoStep(folder.uri, step));
}

/** Undoes all steps of a turn, wherever it is in the history. */
export async function undoWholeTurn(host: CommandHost, target: Target | undefined): Promise<void> {
  const folder = target === undefined ? await chooseFolder(host, "Undo Turn") : host.world.folder(target.folder.uri);
  if (folder === undefined) return;
  const chosen =
    target?.turn ??
    (await chooseTurn(host, folder, "Undo Turn", ({ state }) => state === "applied" || state === "partly"));
  if (chosen === undefined) return;
  const turn = folder.turn(chosen) ?? chosen;
  if (turn.state === "open") {
    const answer = await host.world.ui.ask({
      message: `${capitalized(turnInSentence(turn))} is still running.`,
      detail: "Snapd ends its open steps first. Whatever the agent writes after that stays.",
      choices: [END_AND_UNDO],
    });
    if (answer !== END_AND_UNDO) return;
  }
  await host.acting.act(undoTurn(folder.uri, turn));
}

/** Goes back to before the prompt of a turn, with files and conversation. */
export async function rewind(host: CommandHost, target: Target | undefined): Promise<void> {
  const title = "Go Back to Before a Prompt";
  const { ui } = host.world;
  const folder = target === undefined ? await chooseFolder(host, title) : host.world.folder(target.folder.uri);
  if (folder === undefined) return;
  const turn = target?.turn ?? (await chooseTurn(host, folder, title, () => true));
  if (turn === undefined) return;
  const about = { sessionId: turn.sessionId, messageId: turn.messageId };
  const planned = await folder.request("session/rewindChat", { ...about, dryRun: true });
  const answer = await ui.ask({
    message: `Go back to before ${turnInSentence(turn)}, with files and conversation?`,
    detail: `Conversation: ${planned.chat.problem ?? planned.chat.summary}.`,
    choices: [GO_BACK],
  });
  if (answer !== GO_BACK || !(await host.acting.act(goBackToBefore(folder.uri, turn)))) return;
  const { chat } = await folder.request("session/rewindChat", about);
  host.world.later(
    (async () => {
      const pressed = await ui.notify({
        severity: chat.problem === undefined ? "info" : "warning",
        message: `Conversation: ${chat.problem ?? chat.summary}. ${chat.line ?? ""}`.trimEnd(),
        buttons: chat.line === undefined ? [] : [TERMINAL],
      });
      if (pressed === TERMINAL && chat.line !== undefined) ui.typeInTerminal(chat.cwd, chat.line);
    })(),
  );
}

/** Redoes what was undone last; where several sessions have one, the user is asked. */
export async function redo(host: CommandHost): Promise<void> {
  const folder = await chooseFolder(host, "Redo Agent Step");
  if (folder === undefined) return;
  await folder.refresh();
  const [newest, ...others] = redoable(folder.sessions, folder.entries);
  if (newest === undefined) throw new Refused(`No step is left to redo in ${folder.name}.`);
  const chosen =
    others.length === 0
      ? newest
      : await host.world.ui.choose({
          title: "Redo Agent Step",
          placeholder: "Choose the session",
          rows: [newest, ...others].map((each) => ({
            label: each.session.name,
            description: undoneText(folder, each),
            detail: `${counted(each.session.redoable, "step")} to redo`,
            value: each,
          })),
        });
  if (chosen !== undefined) await host.acting.act(redoLast(folder.uri, chosen.session.sessionId));
}

function undoneText(folder: ActingFolder, { undone }: Redoable): string {
  const steps = (undone?.steps ?? []).flatMap((stepId) => folder.step(stepId) ?? []);
  return steps.length === 0 ? "" : `undone last: ${listed(steps.map(stepInSentence), 2)}`;
}
