// Runs an action: exactly the plan that the user accepted, and never over unsaved text.

import { type FileOutcome, gitReasons, gitWords } from "@snapd/client";
import { capitalized } from "../model/wording";
import {
  type Acted,
  type Action,
  type ActingCall,
  type ActingFolder,
  decisionParams,
  foretell,
  send,
  withGit,
} from "./action";
import { type Decision, type Decisions, decide } from "./deciding";
import { Refused } from "./errors";
import { exactName, listed } from "./names";
import { conflicts, written } from "./outcomes";
import { documentsAtRisk, type UnsavedDocument } from "./unsaved";
import type { World } from "./world";

const SAVE = "Save and Continue";
const DISCARD = "Discard Changes and Continue";
const FILES_ONLY = "Files Only";
const FILES_AND_GIT = "Files and Git";
const CHANGED = "Something has changed since. ";

/** An action that was carried out, and what it did. */
export interface Performed {
  readonly action: Action;
  /** What became of all files, those left out among them. */
  readonly acted: Acted;
  /** The files that were written over because that was decided. */
  readonly overwritten: readonly FileOutcome[];
  /** Whether it did steps again. */
  readonly isRedo: boolean;
}

/** What an action would do now; without a call, no request is needed. */
interface Forecast {
  readonly call: ActingCall | undefined;
  readonly leftOut: readonly FileOutcome[];
  readonly acted: Acted;
}

/** What a person decided, and the plan that overwrites all of these files: as long as it is the same, so are they. */
interface Agreement {
  readonly decisions: Decisions;
  readonly all: Decisions;
  readonly plan: string | undefined;
}

/** Whether git goes along, as a person decided, and the plan that was shown for it. */
interface GitChoice {
  readonly isWanted: boolean;
  readonly plan: string | undefined;
}

const NONE: Agreement = { decisions: new Map(), all: new Map(), plan: undefined };

/**
 * Carries out an action, after the questions that it needs.
 *
 * @returns undefined where the user cancelled, and "changed" where it is no longer what the user agreed to; nothing was
 *   written then.
 * @throws Refused - nothing was written either, and why.
 * @throws SnapdError, ConnectionLostError: see `SnapdClient.request`.
 */
export async function perform(action: Action, world: World): Promise<Performed | "changed" | undefined> {
  const folder = world.folder(action.folder);
  let agreement = NONE;
  let git: GitChoice | undefined;
  let note = "";
  for (;;) {
    const { decisions } = agreement;
    await world.flush();
    const forecast = await foresee(action, folder, decisions, git);
    const { call, acted } = forecast;
    if (action.agreed !== undefined && decisions.size === 0 && acted.plan !== action.agreed.plan) return "changed";
    checkShown(action, acted.files);
    const undecided = conflicts(acted.files).filter((file) => !decisions.has(exactName(file)));
    if (
      undecided.length === 0 &&
      agreement !== NONE &&
      (await foresee(action, folder, agreement.all, git)).acted.plan !== agreement.plan
    ) {
      [agreement, note] = [NONE, CHANGED];
      continue;
    }
    await world.flush();
    // nothing can be typed between here and the request
    const atRisk = documentsAtRisk(action.folder, acted.files, world.ui.unsaved());
    if (atRisk.length > 0) {
      if (!(await settle(action, atRisk, world))) return undefined;
      continue;
    }
    if (agreement === NONE && (git === undefined ? acted.git?.left === true : acted.plan !== git.plan)) {
      git = await chooseGit(action, folder, git === undefined ? note : CHANGED, world);
      if (git === undefined) return undefined;
      continue;
    }
    if (undecided.length > 0) {
      const agreed = await agree(action, folder, forecast, agreement, git, undecided, note, world);
      if (agreed === undefined) return undefined;
      agreement = agreed;
      continue;
    }
    if (call === undefined) return { action, acted, overwritten: [], isRedo: false };
    const done = await send(folder, call, acted, decisions);
    // something moved in between: it is foretold anew
    if (done === undefined) continue;
    const overwritten = written(done.files).filter((file) => decisions.get(exactName(file)) === "overwrite");
    const files = [...done.files, ...forecast.leftOut];
    return { action, acted: { ...done, files }, overwritten, isRedo: isRedo(call) };
  }
}

async function foresee(
  action: Action,
  folder: ActingFolder,
  decisions: Decisions,
  git?: Pick<GitChoice, "isWanted">,
): Promise<Forecast> {
  const plan = await action.plan(folder, decisions);
  if ("settled" in plan) return { call: undefined, leftOut: [], acted: plan.settled };
  const { leftOut } = plan;
  const call = git?.isWanted === true ? withGit(plan.call) : plan.call;
  const acted = await foretell(folder, call, { ...decisionParams(decisions), details: "counts" });
  return { call, leftOut, acted: { ...acted, files: [...acted.files, ...leftOut] } };
}

function isRedo(call: ActingCall | undefined): boolean {
  return call?.method === "session/redo";
}

/** Has the user decide whether git goes along; resolves with undefined if the action is not to be done. */
async function chooseGit(
  action: Action,
  folder: ActingFolder,
  note: string,
  { ui }: World,
): Promise<GitChoice | undefined> {
  const { call, acted: without } = await foresee(action, folder, NONE.decisions);
  const both = (await foresee(action, folder, NONE.decisions, { isWanted: true })).acted;
  const [stays, goes] = [without.git, both.git].map((git) => {
    const words = git === undefined ? "" : gitWords(git.changes);
    return words === "" ? "no change" : words;
  });
  const answer = await ui.ask({
    message: `${capitalized(action.aim)}?`,
    detail: [
      `${note}“${FILES_ONLY}” leaves git ${isRedo(call) ? "undone" : "as it is"}: ${stays}.`,
      `“${FILES_AND_GIT}”: ${goes}.`,
      ...gitReasons(both.git).map((why) => `Left in git: ${why}.`),
    ].join("\n"),
    choices: [FILES_ONLY, FILES_AND_GIT],
  });
  if (answer === undefined) return undefined;
  const isWanted = answer === FILES_AND_GIT;
  return { isWanted, plan: (isWanted ? both : without).plan };
}

/** Has the user decide about files in conflict; resolves with undefined if the action is not to be done. */
async function agree(
  action: Action,
  folder: ActingFolder,
  { call, acted }: Forecast,
  before: Agreement,
  git: GitChoice | undefined,
  files: readonly FileOutcome[],
  note: string,
  { ui }: World,
): Promise<Agreement | undefined> {
  const all = new Map<string, Decision>(before.all);
  for (const file of files) all.set(exactName(file), "overwrite");
  const overwritten = (await foresee(action, folder, all, git)).acted;
  const deleted = new Set(overwritten.files.filter(({ outcome }) => outcome === "deleted").map(exactName));
  const decided = await decide({ action, method: call?.method, forecast: acted, files, deleted, note }, ui);
  if (decided === undefined) return undefined;
  return { decisions: new Map([...before.decisions, ...decided]), all, plan: overwritten.plan };
}

/** Has the user decide about unsaved text; false where the action is not to be done. */
async function settle(action: Action, documents: readonly UnsavedDocument[], world: World): Promise<boolean> {
  const names = listed(
    documents.map(({ name }) => name),
    10,
  );
  const answer = await world.ui.ask({
    message: `${names} ${documents.length === 1 ? "has" : "have"} unsaved text.`,
    detail: `To ${action.aim}, Snapd has to write ${documents.length === 1 ? "this file" : "these files"}.`,
    choices: [SAVE, DISCARD],
  });
  if (answer === SAVE) await world.ui.save(documents);
  else if (answer === DISCARD) await world.ui.discard(documents);
  return answer !== undefined;
}

/** Refuses to write what the user was not shown. */
function checkShown({ shown }: Action, forecast: readonly FileOutcome[]): void {
  if (shown === undefined) return;
  const others = written(forecast).filter((file) => !shown.has(exactName(file)));
  if (others.length === 0) return;
  const names = listed(others.map(({ file }) => file));
  throw new Refused(`Files have moved since the plan was shown, so ${names} would be written too.`);
}
