/** The middle of the page: what happened, latest first. */
import { overlapLine } from "@snapd/client/words";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { firstLine, visible } from "../model/names";
import type { EntryRow, TurnRow } from "../model/outline";
import { fragmentOf, type Scope, type Shown } from "../model/route";
import { counted, gitName, operationName, promptName, stateName, stepName, sums } from "../model/wording";
import { propose, redoLast, undoLast } from "../store/acting";
import { replaceBy, route, shown } from "../store/route";
import { sessions } from "../store/sessions";
import { isReadOnly } from "../store/status";
import { problem, progress, reloadTimeline, rows, scope } from "../store/timeline";
import { Age, Agent, Button, colourOf, Counts, Empty, FileName, GitMark, StatusLetter, Trouble } from "./bits";
import { Icon } from "./icons";
import { useKeys } from "./keyboard";
import { type FileRow, heightOf, isShown, screenRows, type ScreenRow, shownOf } from "./rows";
import { VirtualList } from "./virtual-list";

export function Timeline(): JSX.Element {
  const list = useMemo(() => screenRows(rows.value, shown.value), [rows.value, shown.value]);
  const chosen = shown.value;
  const row = useMemo(() => chosenRow(list, chosen), [list, chosen]);
  const isComplete = progress.value === "complete";
  const session = scope.value === undefined ? undefined : sessions.value?.get(scope.value);
  const go = (by: number) => () => {
    const targets = rows.value.filter((one) => shownOf(one) !== undefined);
    // read when the key is pressed: the next key may come before the next render
    const at = targets.findIndex((one) => isShown(one, shown.value));
    const next = targets[at < 0 ? 0 : at + by];
    const target = next === undefined ? undefined : shownOf(next);
    // leaving goes back to where the list was entered, not through each step of it
    if (target !== undefined) replaceBy({ page: "timeline", scope: scope.value, shown: target });
  };
  useKeys({
    next: go(1),
    previous: go(-1),
    // beside the list stands what undo is about
    ...(chosen === undefined && session !== undefined && session.undoable > 0
      ? { undo: () => void propose(undoLast(session)) }
      : {}),
    ...(session !== undefined && session.redoable > 0 ? { redo: () => void propose(redoLast(session)) } : {}),
  });
  return (
    <section class="timeline" aria-label="Timeline" aria-busy={progress.value === "loading"}>
      <TimelineHead />
      <VirtualList
        rows={list}
        heightOf={(one) => heightOf(one, scope.value === undefined)}
        kindOf={(one) => one.kind}
        view={(one) => <RowView row={one} />}
        listKey={scope.value ?? ""}
        revealed={row === undefined ? undefined : { key: row.key, reason: fragmentOf(route.value) }}
        isComplete={isComplete}
      >
        <>
          {problem.value !== undefined && <Trouble problem={problem.value} again={() => void reloadTimeline()} />}
          {list.length === 0 && isComplete && <NothingYet />}
        </>
      </VirtualList>
    </section>
  );
}

/** The selected row: the file's, if a file is selected and listed. */
function chosenRow(list: readonly ScreenRow[], chosen: Shown | undefined): ScreenRow | undefined {
  if (chosen === undefined) return undefined;
  const file = list.find((row) => row.kind === "file" && row.file.file === chosen.file);
  return file ?? list.find((row) => row.kind !== "file" && isShown(row, chosen));
}

function TimelineHead(): JSX.Element {
  const session = scope.value === undefined ? undefined : sessions.value?.get(scope.value);
  const title = session === undefined ? (scope.value === undefined ? "All activity" : "Session") : session.name;
  return (
    <header class="pane-head">
      <div class="pane-title">
        <h2>{title}</h2>
        {session !== undefined && (
          <p class="quiet">
            <Agent name={session.agent} /> {counted(session.stepCount, "step")}
          </p>
        )}
      </div>
      {session !== undefined && !isReadOnly.value && (
        <div class="actions">
          <Button
            icon="undo"
            label="Undo the last step"
            keys={shown.value === undefined ? "u" : ""}
            isDisabled={session.undoable === 0}
            onClick={() => void propose(undoLast(session))}
          />
          <Button
            icon="redo"
            label="Redo"
            keys="r"
            isDisabled={session.redoable === 0}
            onClick={() => void propose(redoLast(session))}
          />
        </div>
      )}
    </header>
  );
}

function NothingYet(): JSX.Element {
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

function RowView({ row }: { readonly row: ScreenRow }): JSX.Element {
  if (row.kind === "turn") return scope.value === undefined ? <Prompt row={row} /> : <Turn row={row} />;
  if (row.kind === "file") return <File row={row} />;
  return row.entry.step === undefined ? <OperationRow row={row} /> : <StepRow row={row} />;
}

function hrefTo(next: Shown | undefined, of: Scope): string {
  return fragmentOf({ page: "timeline", scope: of, ...(next === undefined ? {} : { shown: next }) });
}

function Turn({ row }: { readonly row: TurnRow }): JSX.Element {
  const state = row.message === undefined ? "" : stateName(row.message.state);
  return (
    <a class="row turn" href={hrefTo(shownOf(row), scope.value)} aria-current={isShown(row, shown.value) || undefined}>
      <span class="prompt">{promptName(row.text)}</span>
      <span class="meta">
        {row.message !== undefined && <span>{counted(row.message.steps, "step")}</span>}
        {state !== "" && <span class="state">{state}</span>}
        <Age at={row.at} />
      </span>
    </a>
  );
}

/** A prompt among what all sessions did: what stands below it came before it. */
function Prompt({ row }: { readonly row: TurnRow }): JSX.Element {
  return (
    <a
      class="row operation"
      href={hrefTo(shownOf(row), scope.value)}
      aria-current={isShown(row, shown.value) || undefined}
    >
      <Icon name="prompt" />
      <span class="name said">{promptName(row.text)}</span>
      <Who sessionId={row.sessionId} />
      <Age at={row.at} />
    </a>
  );
}

function StepRow({ row }: { readonly row: EntryRow }): JSX.Element | null {
  const { entry, depth } = row;
  const { step } = entry;
  if (step === undefined) return null;
  const state = stateName(step.state);
  const tool = firstLine(step.tool);
  return (
    <a
      class={`row step has-agent is-${step.state} depth-${depth}`}
      style={colourOf(step.agent)}
      href={hrefTo(shownOf(row), scope.value)}
      aria-current={isShown(row, shown.value) || undefined}
    >
      <span class="dot" aria-hidden="true" />
      <span class="name">{stepName(step)}</span>
      <Age at={step.startedAt} />
      <span class="meta">
        {scope.value === undefined && <Who sessionId={step.sessionId} />}
        {tool !== undefined && <span>{tool}</span>}
        {step.endedAt !== undefined && (
          <span>
            {entry.files.length > 0
              ? counted(entry.files.length, "file")
              : step.git === undefined
                ? "changed nothing"
                : gitName(step.git)}
          </span>
        )}
        <Counts of={sums(entry.files)} />
        {state !== "" && <span class="state">{state}</span>}
        {step.overlaps !== undefined && (
          <span class="state" title={overlapLine(step.overlaps)}>
            overlap
          </span>
        )}
      </span>
    </a>
  );
}

/** The agent of a session. */
function Who({ sessionId }: { readonly sessionId: string }): JSX.Element {
  const session = sessions.value?.get(sessionId);
  return <Agent name={session?.agent} />;
}

function OperationRow({ row }: { readonly row: EntryRow }): JSX.Element {
  const { entry } = row;
  const target = shownOf(row);
  return (
    <a
      class={`row operation is-${entry.kind}`}
      href={hrefTo(target, scope.value)}
      aria-current={isShown(row, shown.value) || undefined}
    >
      <Icon
        name={entry.kind === "user" ? "user" : entry.kind === "redo" || entry.kind === "unrevert" ? "redo" : "undo"}
      />
      <span class="name">{operationName(entry)}</span>
      {entry.files.length === 0 && entry.git !== undefined && <span class="quiet">{gitName(entry.git)}</span>}
      {entry.state !== undefined && <span class="state">{stateName(entry.state)}</span>}
      <Age at={entry.at} />
    </a>
  );
}

function File({ row }: { readonly row: FileRow }): JSX.Element {
  const { file } = row;
  const current = shown.value;
  const next = current === undefined ? undefined : { ...current, file: file.file };
  return (
    <a class="row file" href={hrefTo(next, scope.value)} aria-current={current?.file === file.file || undefined}>
      <StatusLetter file={file} />
      <FileName file={file.file} />
      {file.binary ? <span class="quiet">binary</span> : <Counts of={file} />}
      <GitMark file={file} />
      {file.shared === true && (
        <span class="state" title={visible("Steps of other sessions may have made this change.")}>
          shared
        </span>
      )}
    </a>
  );
}
