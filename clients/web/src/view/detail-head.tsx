/** The header of the detail pane. */
import type { ComponentChildren, JSX } from "preact";
import { fragmentOf, type Route } from "../model/route";
import { layout } from "../store/preferences";
import { scope } from "../store/timeline";
import { Icon } from "./icons";

export interface DetailHeadProps {
  readonly title: string;
  readonly facts: ComponentChildren;
  readonly actions?: ComponentChildren;
  /** The list that it belongs to, for narrow windows. */
  readonly back?: Route;
  /** Whether a diff stands below it. */
  readonly hasDiff?: boolean;
}

export function DetailHead({ title, facts, actions, back, hasDiff = true }: DetailHeadProps): JSX.Element {
  return (
    <header class="detail-head">
      <a
        class="back"
        href={fragmentOf(back ?? { page: "timeline", scope: scope.value })}
        aria-label={back === undefined ? "Back to the timeline" : "Back to the list"}
      >
        <Icon name="back" />
      </a>
      <div class="detail-title">
        <h2>{title}</h2>
        <p class="facts">{facts}</p>
      </div>
      <div class="actions">
        {actions}
        {hasDiff && <LayoutSwitch />}
      </div>
    </header>
  );
}

/** How diffs are drawn. */
function LayoutSwitch(): JSX.Element {
  return (
    <div class="switch" role="group" aria-label="Layout of the diff">
      {(["unified", "split"] as const).map((one) => (
        <button
          key={one}
          type="button"
          aria-pressed={layout.value === one}
          onClick={() => {
            layout.value = one;
          }}
        >
          {one === "unified" ? "Unified" : "Split"}
        </button>
      ))}
    </div>
  );
}
