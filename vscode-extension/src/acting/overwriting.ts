// Files that conflicted with the undo of a step are taken back all the same.

import type { Step } from "@snapd/client";
import { stepInSentence } from "../model/wording";
import type { Overwriting } from "./action";
import { exactName } from "./names";
import { overwrite } from "./takingBack";

/** Files become what they were before a step. */
export function overwriteStepFiles(folder: string, step: Step): Overwriting {
  const place = `before ${stepInSentence(step)}`;
  const changed = new Set((step.files ?? []).map(exactName));
  const overwriting: Overwriting = {
    becomes: `what it was ${place}`,
    compared: () => ({ hash: step.from, name: place }),
    // one that others moved since goes by a name that the step knows nothing of
    allows: (file) => changed.has(exactName(file)),
    with: (files) =>
      overwrite(folder, files, place, () => overwriting, {
        method: "step/revertFiles",
        params: { stepId: step.stepId, files: files.map(exactName), onConflict: "overwrite" },
      }),
  };
  return overwriting;
}
