// Staging what steps changed.

import { stageSteps } from "../acting/staging";
import { counted, stepInSentence } from "../model/wording";
import { chooseFolder, chooseStep, isUndoable } from "./choosing";
import type { CommandHost, Target } from "./host";

const TITLE = "Stage This Step's Changes";

/**
 * Puts what a step changed, and nothing else, into the git index; or what several that are selected changed.
 *
 * @param selected - all items that are selected, where the command was called on one of several.
 */
export async function stageStep(
  host: CommandHost,
  target: Target | undefined,
  selected: readonly Target[] = [],
): Promise<void> {
  const folder = target === undefined ? await chooseFolder(host, TITLE) : host.world.folder(target.folder.uri);
  if (folder === undefined) return;
  const together = selected.length > 1 ? selected : target === undefined ? [] : [target];
  let steps = together.flatMap((each) =>
    each.folder.uri === folder.uri && each.step !== undefined ? [each.step] : [],
  );
  if (target?.step === undefined) {
    const chosen = await chooseStep(host, folder, TITLE, isUndoable);
    if (chosen === undefined) return;
    steps = [chosen];
  }
  const [only, ...others] = steps;
  const whose = only !== undefined && others.length === 0 ? stepInSentence(only) : counted(steps.length, "step");
  const notice = await stageSteps(
    host.world,
    folder,
    steps.map(({ stepId }) => stepId),
    whose,
  );
  host.world.later(host.acting.notify(notice));
}
