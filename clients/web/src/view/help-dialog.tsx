/** The keys of the page. */
import type { JSX } from "preact";
import { BINDINGS } from "../model/keys";
import { isReadOnly } from "../store/status";
import { Dialog } from "./dialog";
import { isHelpOpen } from "./overlays";

export function HelpDialog(): JSX.Element | null {
  if (!isHelpOpen.value) return null;
  const shownBindings = BINDINGS.filter(({ changes }) => !(changes && isReadOnly.value));
  return (
    <Dialog title="Keys" close={() => (isHelpOpen.value = false)}>
      <dl class="keys">
        {shownBindings.map(({ keys, does }) => (
          <div key={keys.join(" ")}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
