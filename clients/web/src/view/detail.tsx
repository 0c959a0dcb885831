/** The detail pane: the selected entry of the timeline. */
import type { JSX } from "preact";
import { shown } from "../store/route";
import { progress, steps } from "../store/timeline";
import { Empty } from "./bits";
import { ChangeDetail } from "./change-detail";
import { StepDetail } from "./step-detail";
import { TurnDetail } from "./turn-detail";

export function Detail(): JSX.Element {
  return (
    <section class="detail" aria-label="Details">
      <Chosen />
    </section>
  );
}

function Chosen(): JSX.Element {
  const chosen = shown.value;
  if (chosen === undefined) {
    return (
      <Empty title="Choose a step">
        <p>
          What it changed is shown here. <kbd>j</kbd> and <kbd>k</kbd> go from step to step, <kbd>?</kbd> shows all
          keys.
        </p>
      </Empty>
    );
  }
  if (chosen.what === "turn") return <TurnDetail key={chosen.messageId} {...chosen} file={chosen.file} />;
  if (chosen.what === "change")
    return <ChangeDetail key={`${chosen.before} ${chosen.after}`} {...chosen} at={chosen.at} file={chosen.file} />;
  const entry = steps.value.get(chosen.stepId);
  if (entry?.step !== undefined) {
    return (
      <StepDetail key={chosen.stepId} step={entry.step} files={entry.files} file={chosen.file} line={chosen.line} />
    );
  }
  if (progress.value !== "complete") return <div class="skeleton tall" aria-hidden="true" />;
  return (
    <Empty title="This step no longer exists">
      <p>snapd keeps steps for the configured retention time; this one may be older.</p>
    </Empty>
  );
}
