// Carries out an action: what was foretold, and nothing over text that is typed and not saved.

import type { FileOutcome } from "@snapd/client";
import { type Acted, type Action, foretell, send } from "./action";
import { Refused } from "./errors";
import { exactName, listed } from "./names";
import { written } from "./outcomes";
import { documentsAtRisk, type UnsavedDocument } from "./unsaved";
import type { World } from "./world";

const SAVE = "Save and Continue";
const DISCARD = "Discard Changes and Continue";

/** An action that was carried out, and what it did. */
export interface Performed {
  readonly action: Action;
  /** What became of all files, those left out among them. */
  readonly acted: Acted;
}

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
  for (;;) {
    await world.flush();
    const plan = await action.plan(folder);
    if ("settled" in plan) return { action, acted: plan.settled };
    const forecast = await foretell(folder, plan.call);
    if (action.agreed !== undefined && forecast.plan !== action.agreed.plan) return "changed";
    checkShown(action, forecast.files);
    await world.flush();
    // from here to the request nobody can type
    const atRisk = documentsAtRisk(action.folder, forecast.files, world.ui.unsaved());
    if (atRisk.length === 0) {
      const acted = await send(folder, plan.call, forecast);
      // something moved in between: it is foretold anew
      if (acted === undefined) continue;
      return { action, acted: { ...acted, files: [...acted.files, ...plan.leftOut] } };
    }
    if (!(await settle(action, atRisk, world))) return undefined;
  }
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
