/** The page's begin: what each session did today, and what needs a look. */
import type { Message, SessionActivity, StepProblem } from "@snapd/client";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { fragmentOf, type Route } from "../model/route";
import { counted, grouped, otherMachine, problemName, promptName, stateName } from "../model/wording";
import { totals } from "../store/review";
import { sessions } from "../store/sessions";
import { activity, days, problem } from "../store/today";
import { loadToday } from "../store/today";
import { Age, Agent, Button, Counts, Empty, Trouble } from "./bits";
import { Icon } from "./icons";

/** Sessions and prompts that are shown at first: a day may have hundreds. */
const SESSIONS_AT_ONCE = 30;
const PROMPTS_AT_ONCE = 5;

export function TodayPage(): JSX.Element {
  const list = activity.value;
  const [most, setMost] = useState(SESSIONS_AT_ONCE);
  return (
    <section class="today-page" aria-label="Today" aria-busy={list === undefined}>
      <header class="pane-head">
        <div class="pane-title">
          <h2>{days.value === 1 ? "Today" : "Last 7 days"}</h2>
          {list !== undefined && <p class="quiet">{summaryOf(list)}</p>}
        </div>
        <div class="switch" role="group" aria-label="Days">
          {([1, 7] as const).map((count) => (
            <button key={count} type="button" aria-pressed={days.value === count} onClick={() => (days.value = count)}>
              {count === 1 ? "Today" : "7 days"}
            </button>
          ))}
        </div>
      </header>
      <div class="scroller" tabIndex={-1}>
        {problem.value !== undefined && <Trouble problem={problem.value} again={() => void loadToday()} />}
        {list === undefined && problem.value === undefined && <div class="skeleton tall" aria-hidden="true" />}
        {list !== undefined && (
          <div class="today">
            <PendingCard />
            {list.length === 0 && <Nothing />}
            {list.slice(0, most).map((one) => (
              <SessionCard key={one.session.sessionId} of={one} />
            ))}
            {list.length > most && (
              <Button
                label={`Show more sessions: ${counted(list.length - most, "older one")}`}
                text={`${counted(list.length - most, "older session")}: show more`}
                onClick={() => setMost(most + SESSIONS_AT_ONCE)}
              />
            )}
          </div>
        )}
      </div>
    </section>
  );
}

/** "6 sessions, 72 steps, 2 need a look". */
function summaryOf(list: readonly SessionActivity[]): string {
  const steps = list.reduce((sum, { steps }) => sum + steps, 0);
  const problems = list.reduce((sum, { problems }) => sum + problems.length, 0);
  const parts = [counted(list.length, "session"), counted(steps, "step")];
  if (problems > 0) parts.push(`${counted(problems, "step")} to look at`);
  return parts.join(", ");
}

/** The pending changes of the whole folder, of any day. */
function PendingCard(): JSX.Element | null {
  const sums = totals.value;
  if (sums === undefined || sums.pendingFiles === 0) return null;
  return (
    <a class="pending-card" href={fragmentOf({ page: "review" })}>
      <Icon name="pending" />
      <span class="name">Review {counted(sums.pendingFiles, "pending file")}</span>
      <Counts of={sums} />
      <Icon name="forward" />
    </a>
  );
}

function Nothing(): JSX.Element {
  if ((sessions.value?.size ?? 0) === 0) {
    return (
      <Empty title="Nothing has happened yet">
        <p>Once an agent works in this folder, each of its steps appears here by itself.</p>
        <p>
          <code>snapd agent install --all</code> connects the agents of this machine; <code>snapd run -- COMMAND</code>{" "}
          runs any other.
        </p>
      </Empty>
    );
  }
  return (
    <Empty title={days.value === 1 ? "No agent has worked here today" : "No agent has worked here in the last 7 days"}>
      <p>
        <a class="link" href={fragmentOf({ page: "timeline", scope: undefined })}>
          All activity
        </a>{" "}
        has what happened before.
      </p>
    </Empty>
  );
}

function SessionCard({ of }: { readonly of: SessionActivity }): JSX.Element {
  const { session, messages, steps, files, pendingFiles, problems } = of;
  const { sessionId } = session;
  const [isWhole, setIsWhole] = useState(false);
  const here: Route = { page: "timeline", scope: sessionId };
  const machine = otherMachine(session);
  const listed = isWhole ? messages : messages.slice(0, PROMPTS_AT_ONCE);
  const name = session.name;
  return (
    <article class="session-card" aria-label={name}>
      <header>
        <h3>
          <a href={fragmentOf(here)}>{name}</a>
        </h3>
        <p class="facts">
          <Agent name={session.agent} />
          {machine !== undefined && <span>{machine}</span>}
          <Age at={session.endedAt ?? messages[0]?.at ?? session.startedAt} />
        </p>
      </header>
      <ul class="figures" aria-label="Figures">
        <Figure to={here} count={steps} one="step" />
        <Figure to={here} count={files} one="file" />
        <Figure to={{ page: "review", of: { by: "session", id: sessionId } }} count={pendingFiles} one="pending" />
      </ul>
      {problems.length > 0 && (
        <ul class="problems" aria-label="To look at">
          {problems.map((one) => (
            <ProblemItem key={`${one.stepId} ${one.kind}`} sessionId={sessionId} problem={one} />
          ))}
        </ul>
      )}
      {listed.length > 0 && (
        <ol class="prompts" aria-label="Prompts">
          {listed.map((message) => (
            <PromptItem key={message.messageId} message={message} />
          ))}
        </ol>
      )}
      {listed.length < messages.length && (
        <Button
          kind="quiet"
          label={`Show all ${messages.length} prompts`}
          text={counted(messages.length - listed.length, "earlier prompt")}
          onClick={() => setIsWhole(true)}
        />
      )}
    </article>
  );
}

interface FigureProps {
  readonly to: Route;
  readonly count: number;
  readonly one: string;
}

function Figure({ to, count, one }: FigureProps): JSX.Element {
  const word = one === "pending" || count === 1 ? one : `${one}s`;
  const text = (
    <>
      <b>{grouped(count)}</b> {word}
    </>
  );
  return <li>{count === 0 ? <span class="quiet">{text}</span> : <a href={fragmentOf(to)}>{text}</a>}</li>;
}

function PromptItem({ message }: { readonly message: Message }): JSX.Element {
  const { sessionId, messageId, steps, files, state } = message;
  const shown = { what: "turn", sessionId, messageId } as const;
  const what = stateName(state);
  return (
    <li>
      <a class="prompt-link" href={fragmentOf({ page: "timeline", scope: sessionId, shown })}>
        <Icon name="prompt" />
        <span class="name">{promptName(message.text)}</span>
        <span class="meta">
          <span>{counted(steps, "step")}</span>
          {files > 0 && <span>{counted(files, "file")}</span>}
          {what !== "" && <span class="state">{what}</span>}
          <Age at={message.at} />
        </span>
      </a>
    </li>
  );
}

interface ProblemProps {
  readonly sessionId: string;
  readonly problem: StepProblem;
}

function ProblemItem({ sessionId, problem: { stepId, kind, tool, description } }: ProblemProps): JSX.Element {
  const shown = { what: "step", sessionId, stepId } as const;
  return (
    <li>
      <a class="problem-link" href={fragmentOf({ page: "timeline", scope: sessionId, shown })}>
        <Icon name="warning" />
        <span class="name">{promptName(description ?? tool ?? "Step")}</span>
        <span class="quiet">{problemName(kind)}</span>
      </a>
    </li>
  );
}
