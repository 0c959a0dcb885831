/** The top of the page: which folder it is, how snapd is, and the search. */
import type { JSX } from "preact";
import { visible } from "../model/names";
import { fragmentOf } from "../model/route";
import { status } from "../store/status";
import { isConnected } from "../store/troubles";
import { Button } from "./bits";
import { Icon } from "./icons";
import { isHelpOpen } from "./overlays";
import { SearchBox } from "./search-box";

export function Header(): JSX.Element {
  const root = status.value?.root ?? "";
  const name = root.slice(root.lastIndexOf("/") + 1);
  return (
    <header class="top">
      <h1>
        <a class="brand" href={fragmentOf({ page: "today" })}>
          <Icon name="mark" />
          <span>snapd</span>
        </a>
      </h1>
      <span class="root" title={visible(root)}>
        {visible(name)}
      </span>
      <StatusBadge />
      <SearchBox />
      <Button
        icon="help"
        label="Keyboard and help"
        keys="?"
        onClick={() => {
          isHelpOpen.value = true;
        }}
      />
    </header>
  );
}

const WORDS = { on: "On", off: "Off", degraded: "Degraded", away: "Offline" } as const;

/** Whether snapshots are taken, and why not. */
function StatusBadge(): JSX.Element | null {
  const known = status.value;
  if (known === undefined && isConnected.value) return null;
  const state = isConnected.value ? (known?.state ?? "off") : "away";
  const why = isConnected.value ? known?.why : "The server does not answer; the page tries again by itself.";
  return (
    <span class={`status is-${state}`} role="status">
      <span class="status-dot" aria-hidden="true" />
      <span>{WORDS[state]}</span>
      {known?.readOnly === true && <span class="read-only">Read-only</span>}
      {why !== undefined && <span class="why">{visible(why)}</span>}
    </span>
  );
}
