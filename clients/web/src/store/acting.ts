/** Undo, redo and revert: the plan first, then the change. */
import type { Chat, Contested, Details, FileOutcome, GitOutcome, OnConflict, Session, Step } from "@snapd/client";
import { gitReasons, movesGit } from "@snapd/client/words";
import { signal } from "@preact/signals";
import { Problem } from "../api/problem";
import {
  type Asking,
  type Decisions,
  keep,
  type Pending,
  planRevert,
  redo,
  revert,
  revertFiles,
  revertHunks,
  rewindChat,
  takeBack,
  undo,
  unrevert,
} from "../api/routes";
import { exactName } from "../model/names";
import { conflicts, contestedIn, isSettled, summary } from "../model/outcome";
import { counted, gitName, promptName, stepName } from "../model/wording";
import { Latest } from "./latest";
import { loadReview } from "./review";
import { isReadOnly } from "./status";
import { noted, addNote, tellProblem } from "./troubles";

/** What a proposal did, or would do. */
export interface Result {
  readonly files: readonly FileOutcome[];
  readonly steps?: readonly Step[];
  readonly details?: Details;
  readonly git?: GitOutcome;
  /** How the conversation with the agent goes on. */
  readonly chat?: Chat;
  /** All of it as a unified diff. */
  readonly diff?: string;
  /** What exactly would be done; of a dry run. */
  readonly plan?: string;
}

/** Something that changes files of the folder. */
export interface Proposal {
  /** The title of the plan: "Undo “Show prices in euro”". */
  readonly title: string;
  /** The label of the button that applies the plan. */
  readonly verb: string;
  /** What was done, for the note: "Undid". */
  readonly done: string;
  readonly ask: (asking: Asking) => Promise<Result>;
  /** What can be done about it afterwards. */
  readonly back?: { readonly label: string; readonly act: (git: boolean) => void };
}

/** What the person chose. */
interface Choices {
  readonly onConflict: OnConflict;
  /** About single files, by their exact names. */
  readonly decisions: Decisions;
  /** Whether what the steps did to git goes back as well. */
  readonly git: boolean;
  /** Whether the plan differs from the one that the person accepted, because something has changed since. */
  readonly isChanged: boolean;
}

export interface Plan extends Choices {
  readonly proposal: Proposal;
  /** Where files are in conflict, or were until the person decided about them. */
  readonly contested: readonly Contested[];
  /** Absent while the plan is being made. */
  readonly result?: Result;
  readonly problem?: Problem;
  /** Whether it is made anew, for other choices, or carried out: what is not shown yet cannot be accepted. */
  readonly isBusy: boolean;
}

/** The plan that waits for a person's decision. */
export const plan = signal<Plan | undefined>(undefined);

const planning = new Latest();

/** Works out what a proposal would do, and shows it. */
export async function propose(
  proposal: Proposal,
  { onConflict = "merge", decisions = {}, git = false, isChanged = false }: Partial<Choices> = {},
): Promise<void> {
  if (isReadOnly.value) return;
  const isCurrent = planning.begin();
  const known = plan.value?.proposal === proposal ? plan.value : undefined;
  const next = { proposal, onConflict, decisions, git, isChanged, isBusy: false, contested: known?.contested ?? [] };
  plan.value = { ...next, isBusy: true, ...(known?.result === undefined ? {} : { result: known.result }) };
  try {
    const result = await proposal.ask({
      dryRun: true,
      details: "diff",
      onConflict,
      decisions,
      ...(git ? { git } : {}),
    });
    if (!isCurrent()) return;
    plan.value = { ...next, result, contested: contestedIn(result, next.contested, decisions) };
    // where nothing changes and there is nothing to decide, there is nothing to ask
    const isAsked = isChanged || result.git !== undefined || result.chat !== undefined;
    if (!isAsked && isSettled(result.files)) await carryOut();
  } catch (error) {
    if (isCurrent()) plan.value = { ...next, problem: noted(error) };
  }
}

/** Applies the plan, or shows the new plan if something has changed since. */
export async function carryOut(): Promise<void> {
  const current = plan.value;
  if (current?.result === undefined || current.isBusy) return;
  const { proposal, onConflict, decisions, git, result } = current;
  const expected = result.plan === undefined ? {} : { expect: result.plan };
  plan.value = { ...current, isBusy: true };
  try {
    const done = await proposal.ask({ onConflict, decisions, ...(git ? { git } : {}), ...expected });
    const { files, steps } = done;
    plan.value = undefined;
    const left = conflicts(files);
    const what =
      steps === undefined || steps.length === 0 ? proposal.done : `${proposal.done} ${counted(steps.length, "step")}`;
    const hints = left.length === 0 ? [] : ["Files in conflict were left unchanged."];
    hints.push(...gitReasons(done.git).map((reason) => `Left in git: ${reason}.`));
    if (done.chat !== undefined)
      hints.push(`Conversation: ${done.chat.problem ?? done.chat.summary}. ${done.chat.line ?? ""}`.trim());
    const moved = movesGit(done.git) ? done.git?.changes : undefined;
    const { back } = proposal;
    addNote(`${what}: ${summary(files)}${moved === undefined ? "" : `, ${gitName(moved)}`}.`, {
      hint: hints.length === 0 ? undefined : hints.join(" "),
      ...(back === undefined ? {} : { action: { ...back, act: () => back.act(moved !== undefined) } }),
    });
  } catch (error) {
    if (error instanceof Problem && error.kind === "planChanged")
      await propose(proposal, { ...current, isChanged: true });
    else plan.value = { ...current, problem: noted(error), isBusy: false };
  }
  void loadReview();
}

export function dismiss(): void {
  planning.begin();
  plan.value = undefined;
}

export function undoStep(step: Step): Proposal {
  const { sessionId, stepId } = step;
  return {
    title: `Undo “${stepName(step)}”`,
    verb: "Undo",
    done: "Undid",
    ask: (asking) => undo(sessionId, { stepId }, asking),
  };
}

export function undoLast(session: Session): Proposal {
  const { sessionId } = session;
  return {
    title: "Undo the last step of this session",
    verb: "Undo",
    done: "Undid",
    ask: (asking) => undo(sessionId, {}, asking),
  };
}

export function redoLast(session: Session): Proposal {
  const { sessionId } = session;
  return {
    title: "Redo what was undone last in this session",
    verb: "Redo",
    done: "Redid",
    ask: (asking) => redo(sessionId, asking),
  };
}

export function undoTurn(sessionId: string, messageId: string, text: string | undefined): Proposal {
  return {
    title: `Undo the turn “${promptName(text)}”`,
    verb: "Undo the turn",
    done: "Undid",
    ask: (asking) => undo(sessionId, { messageId }, asking),
  };
}

/** Restores to before a prompt: that turn and all later ones of the session are undone. */
export function revertTo(sessionId: string, messageId: string, text: string | undefined): Proposal {
  return {
    title: `Restore to before “${promptName(text)}”`,
    verb: "Restore",
    done: "Restored to before the prompt",
    async ask(asking) {
      if (asking.dryRun === true) return planRevert(sessionId, messageId, asking);
      return (await revert(sessionId, messageId, asking)).revert;
    },
    back: { label: "Bring it back", act: (git) => void bringBack(sessionId, git) },
  };
}

/** The same, and the conversation with the agent goes on from there, in a new session. */
export function rewindTo(sessionId: string, messageId: string, text: string | undefined): Proposal {
  const files = revertTo(sessionId, messageId, text);
  return {
    ...files,
    title: `Restore files and conversation to before “${promptName(text)}”`,
    async ask(asking) {
      const isPlan = asking.dryRun === true;
      const result = await files.ask(asking);
      try {
        return { ...result, chat: (await rewindChat(sessionId, messageId, isPlan)).chat };
      } catch (error) {
        // the files are back
        if (isPlan) throw error;
        return { ...result, chat: { command: [], cwd: "", drops: [], problem: noted(error).message } };
      }
    },
  };
}

async function bringBack(sessionId: string, git: boolean): Promise<void> {
  try {
    await unrevert(sessionId, git);
    addNote("Brought back what was reverted.");
  } catch (error) {
    tellProblem(error);
  }
}

export function undoFile(step: Step, file: { readonly file: string; readonly uri?: string }): Proposal {
  return {
    title: `Undo this step in ${file.file}`,
    verb: "Undo in this file",
    done: "Undid",
    ask: (asking) => revertFiles(step.sessionId, step.stepId, [exactName(file)], asking),
  };
}

export function undoHunk(step: Step, file: { readonly file: string; readonly uri?: string }, hunk: number): Proposal {
  return {
    title: `Undo a change in ${file.file}`,
    verb: "Undo this change",
    done: "Undid",
    ask: (asking) => revertHunks(step.sessionId, step.stepId, exactName(file), [hunk], asking),
  };
}

export function undoPending(title: string, pending: Pending): Proposal {
  return { title, verb: "Undo", done: "Undid", ask: (asking) => takeBack(pending, asking) };
}

/** Accepts pending changes; no file changes by that. */
export async function keepPending(pending: Pending): Promise<void> {
  if (isReadOnly.value) return;
  try {
    await keep(pending);
  } catch (error) {
    tellProblem(error);
  }
  await loadReview();
}
