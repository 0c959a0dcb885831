/** The sidebar: pending changes, sessions, and the prompts of the selected session. */
import type { Message, Session } from "@snapd/client";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { fragmentOf, type Route } from "../model/route";
import { firstLine } from "../model/names";
import { counted, grouped, otherMachine, promptName, stateName } from "../model/wording";
import { totals } from "../store/review";
import { route, shown } from "../store/route";
import { sessions } from "../store/sessions";
import { messages, scope } from "../store/timeline";
import { Age, Agent, Button } from "./bits";
import { Icon, type IconName } from "./icons";

/** How many sessions are listed at first, and how many more by each press: a folder may have thousands. */
const SESSIONS_AT_ONCE = 100;

export function Sidebar(): JSX.Element {
  const { page } = route.value;
  // the one that worked last is looked for most
  const list = [...(sessions.value?.values() ?? [])].reverse();
  const isHere = ({ sessionId }: Session) => page === "timeline" && scope.value === sessionId;
  const [most, setMost] = useState(SESSIONS_AT_ONCE);
  const listed = list.filter((session, at) => at < most || isHere(session));
  const more = list.length - listed.length;
  return (
    <nav class="sidebar" aria-label="Sessions">
      <ul class="places">
        <Place to={{ page: "today" }} icon="today" text="Today" isHere={page === "today"} />
        <Place
          to={{ page: "timeline", scope: undefined }}
          icon="all"
          text="All activity"
          isHere={page === "timeline" && scope.value === undefined}
        />
        <Place
          to={{ page: "review" }}
          icon="pending"
          text="Pending changes"
          isHere={page === "review"}
          count={totals.value?.pendingFiles}
        />
      </ul>
      <h2 class="side-title">Sessions</h2>
      {sessions.value !== undefined && list.length === 0 && (
        <p class="quiet side-note">No agent has worked here yet.</p>
      )}
      <ul class="sessions">
        {listed.map((session) => (
          <SessionItem key={session.sessionId} session={session} isHere={isHere(session)} />
        ))}
      </ul>
      {more > 0 && (
        <Button
          label={`Show more sessions: ${counted(more, "older one")}`}
          text={`${counted(more, "older session")}: show more`}
          onClick={() => setMost(most + SESSIONS_AT_ONCE)}
        />
      )}
    </nav>
  );
}

interface PlaceProps {
  readonly to: Route;
  readonly icon: IconName;
  readonly text: string;
  readonly isHere: boolean;
  readonly count?: number | undefined;
}

function Place({ to, icon, text, isHere, count }: PlaceProps): JSX.Element {
  return (
    <li>
      <a class="place" href={fragmentOf(to)} aria-current={isHere ? "page" : undefined}>
        <Icon name={icon} />
        <span class="name">{text}</span>
        {count !== undefined && count > 0 && (
          <span class="badge" aria-label={counted(count, "file")} role="img">
            {grouped(count)}
          </span>
        )}
      </a>
    </li>
  );
}

function SessionItem({ session, isHere }: { readonly session: Session; readonly isHere: boolean }): JSX.Element {
  const turns = isHere ? [...messages.value.values()].reverse() : [];
  const machine = otherMachine(session);
  return (
    <li>
      <a
        class="place session"
        href={fragmentOf({ page: "timeline", scope: session.sessionId })}
        aria-current={isHere ? "page" : undefined}
      >
        <span class={session.endedAt === undefined ? "live-dot is-open" : "live-dot"} aria-hidden="true" />
        <span class="name">{session.name}</span>
        <span class="meta">
          {session.agent !== undefined && <Agent name={session.agent} />}
          {machine !== undefined && <span>{machine}</span>}
          <span>{counted(session.stepCount, "step")}</span>
          <Age at={session.startedAt} />
        </span>
      </a>
      {turns.length > 0 && (
        <ul class="turns" aria-label="Prompts">
          {turns.slice(0, MOST_TURNS).map((message) => (
            <TurnItem key={message.messageId} sessionId={session.sessionId} message={message} />
          ))}
          {turns.length > MOST_TURNS && (
            <li class="quiet side-note">{counted(turns.length - MOST_TURNS, "older prompt")} in the timeline</li>
          )}
        </ul>
      )}
    </li>
  );
}

/** More are found in the timeline, which has room for them. */
const MOST_TURNS = 50;

function TurnItem({ sessionId, message }: { readonly sessionId: string; readonly message: Message }): JSX.Element {
  const { messageId } = message;
  const current = shown.value;
  const isHere = current?.what === "turn" && current.messageId === messageId;
  const state = stateName(message.state);
  return (
    <li>
      <a
        class="place turn"
        href={fragmentOf({ page: "timeline", scope: sessionId, shown: { what: "turn", sessionId, messageId } })}
        aria-current={isHere ? "true" : undefined}
        title={firstLine(message.text)}
      >
        <span class="name">{promptName(message.text)}</span>
        {state !== "" && <span class="state">{state}</span>}
      </a>
    </li>
  );
}
