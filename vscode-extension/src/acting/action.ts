// What an action is: what it asks of the daemon, how it is reported, and how it is undone.

import { type FileOutcome, type Operation, type Outcome, type Params, SnapdError, type Step } from "@snapd/client";
import type { FolderModel } from "../model/folder";
import type { Decision, Decisions } from "./deciding";

/** What acting needs of a folder. */
export type ActingFolder = Pick<
  FolderModel,
  "uri" | "name" | "sessions" | "entries" | "turns" | "step" | "turn" | "lastStep" | "refresh" | "request" | "review"
>;

/** The requests that change the work tree. */
export type ActingMethod =
  | "session/undo"
  | "session/redo"
  | "session/revert"
  | "step/revertHunks"
  | "step/revertFiles"
  | "review/revert"
  | "snapshot/restore"
  | "snapshot/revert";

/** One such request. */
export type ActingCall = {
  [M in ActingMethod]: {
    readonly method: M;
    readonly params: Omit<Params<M>, "workspaceUri" | "dryRun" | "expect" | "decisions" | "details">;
  };
}[ActingMethod];

/** The answer to one; `steps` if it changed whole steps, `operations` if it changed operations. */
export type Acted = Outcome & { readonly steps?: readonly Step[]; readonly operations?: readonly Operation[] };

/** The request to send and the files left out of it; or an answer if no request is needed. */
export type Plan =
  { readonly call: ActingCall; readonly leftOut: readonly FileOutcome[] } | { readonly settled: Acted };

/** What a file in conflict becomes if it is overwritten. */
export interface Goal {
  /** In words: "what it was before step 3". */
  readonly text: string;
  /** A snapshot to compare the file with, and its name. */
  readonly compared?: { readonly hash: string; readonly name: string };
}

/** A plan that a user agreed to. */
export interface Agreed {
  /** The `plan` of the dry run that was shown. */
  readonly plan: string | undefined;
  /** Shows the current plan and asks again. */
  readonly again: () => Promise<void>;
}

/** Something that a user asked for. */
export interface Action {
  /** The workspaceUri. */
  readonly folder: string;
  /** What it is to do: "undo step 3". */
  readonly aim: string;
  /** What it did: "Undid step 3". */
  readonly done: (acted: Acted) => string;
  /** More to know of what it did, in sentences. */
  readonly besides?: (acted: Acted) => string;
  /** The exact names of the files that may be written, where these were shown before; otherwise any. */
  readonly shown?: ReadonlySet<string>;
  /** What the user agreed to, where that was shown before. */
  readonly agreed?: Agreed;
  /** Returns the request for the current state; called again whenever the state may have changed. */
  readonly plan: (folder: ActingFolder, decisions: Decisions) => Promise<Plan>;
  /** What a file in conflict becomes if it is overwritten; from a dry run. */
  readonly goal: (file: FileOutcome, forecast: Acted) => Goal;
  /** What takes it back. */
  readonly undoing: (acted: Acted) => Action;
}

/** Asks for the same, whatever moves. */
export function always(call: ActingCall): Action["plan"] {
  return () => Promise.resolve({ call, leftOut: [] });
}

/** The same, with what the steps did to git; others than undo and redo are about files alone. */
export function withGit(call: ActingCall): ActingCall {
  if (!call.method.startsWith("session/")) return call;
  return { ...call, params: { ...call.params, git: true } } as ActingCall;
}

/** The goal that is the file of a snapshot. */
export function snapshotGoal(hash: string, place: string): Goal {
  return { text: `what it was ${place}`, compared: { hash, name: place } };
}

/** Asks what a request would do. */
export function foretell(
  folder: ActingFolder,
  call: ActingCall,
  more: Pick<Params<ActingMethod>, "decisions" | "details"> = {},
): Promise<Acted> {
  return folder.request<ActingMethod>(call.method, { ...call.params, ...more, dryRun: true });
}

/** Sends a request; resolves with undefined if it would do something else than was foretold, and does nothing then. */
export async function send(
  folder: ActingFolder,
  call: ActingCall,
  { plan }: Acted,
  decisions: Decisions,
): Promise<Acted | undefined> {
  try {
    return await folder.request<ActingMethod>(call.method, {
      ...call.params,
      ...decisionParams(decisions),
      dryRun: false,
      ...(plan && { expect: plan }),
    });
  } catch (error) {
    if (error instanceof SnapdError && error.kind === "planChanged") return undefined;
    throw error;
  }
}

/** The decisions as request parameters: a file left in conflict has none. */
export function decisionParams(decisions: Decisions): { readonly decisions?: Record<string, Decision> } {
  const made = [...decisions].filter(([, decision]) => decision !== "merge");
  return made.length === 0 ? {} : { decisions: Object.fromEntries(made) };
}
