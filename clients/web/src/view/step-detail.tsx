/** A step: what it is, and what it changed. */
import type { FileChange, Step } from "@snapd/client";
import { overlapLine } from "@snapd/client/words";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { DiffHunk } from "../model/diff";
import { firstLine, visible } from "../model/names";
import { type ChangedLine, fragmentOf } from "../model/route";
import { counted, moment, stateName, stepName, sums } from "../model/wording";
import { propose, undoFile, undoHunk, undoStep } from "../store/acting";
import { spanSource, stepSource } from "../store/diffs";
import { isReadOnly } from "../store/status";
import { Agent, Button, Counts, GitLine } from "./bits";
import { DetailHead } from "./detail-head";
import { DiffPane } from "./diff-pane";
import { useFilesSince } from "./differences";
import { useKeys } from "./keyboard";
import { HistoryLink } from "./links";

export interface StepDetailProps {
  readonly step: Step;
  readonly files: readonly FileChange[];
  readonly file: string | undefined;
  /** The line of that file that is to be seen first. */
  readonly line: ChangedLine | undefined;
}

export function StepDetail(props: StepDetailProps): JSX.Element {
  return props.step.endedAt === undefined ? <OpenStep {...props} /> : <EndedStep {...props} />;
}

/** Hunks of a moved file are those of its two ends, which are not what is shown; what git put there goes back with git. */
function hasHunkActions({ renamedFrom, binary, byGit }: FileChange): boolean {
  return renamedFrom === undefined && !binary && byGit !== true;
}

function EndedStep({ step, files, file, line }: StepDetailProps): JSX.Element {
  const source = useMemo(() => stepSource(step), [step.stepId, step.to]);
  const isInForce = step.state === "applied" || step.state === "partly";
  const canUndo = !isReadOnly.value && isInForce && (files.length > 0 || step.git !== undefined);
  const act = () => {
    if (canUndo) void propose(undoStep(step));
  };
  useKeys(canUndo ? { undo: act } : {});
  const fileActions = (one: FileChange) => (
    <>
      <HistoryLink file={one} />
      {canUndo && one.byGit !== true && (
        <Button
          icon="undo"
          label={`Undo this step in ${visible(one.file)}`}
          onClick={() => void propose(undoFile(step, one))}
        />
      )}
    </>
  );
  const hunkActions = (one: FileChange, hunk: DiffHunk) => (
    <Button
      kind="quiet"
      label="Undo this change"
      text="Undo"
      onClick={() => void propose(undoHunk(step, one, hunk.index))}
    />
  );
  return (
    <>
      <DetailHead
        title={stepName(step)}
        facts={<StepFacts step={step} files={files} />}
        actions={canUndo && <Button icon="undo" label="Undo step" keys="u" text="Undo step" onClick={act} />}
      />
      <DiffPane
        source={source}
        files={files}
        focused={file}
        line={line}
        emptyTitle={step.git === undefined ? "This step changed nothing" : "This step changed no file"}
        head={
          <>
            <Command step={step} />
            <GitLine git={step.git} />
            {step.overlaps !== undefined && <p class="pane-note">Its agent {visible(overlapLine(step.overlaps))}.</p>}
            <Uncaptured step={step} />
          </>
        }
        fileActions={fileActions}
        {...(canUndo ? { hunkActions, hasHunkActions } : {})}
      />
    </>
  );
}

/** A step that goes on: what is in the folder now differs from its beginning, and not all of that need be its own. */
function OpenStep({ step, file }: StepDetailProps): JSX.Element {
  const source = useMemo(() => spanSource(step.from, undefined), [step.from]);
  const files = useFilesSince(step.from, undefined);
  return (
    <>
      <DetailHead title={stepName(step)} facts={<StepFacts step={step} files={files ?? []} />} />
      {files === undefined ? (
        <div class="skeleton tall" aria-hidden="true" />
      ) : (
        <DiffPane
          source={source}
          files={files}
          focused={file}
          emptyTitle="Nothing has changed since this step began"
          head={
            <>
              <Command step={step} />
              <p class="pane-note">
                The step goes on. This is what has changed in the folder since it began, by anyone.
              </p>
            </>
          }
        />
      )}
    </>
  );
}

function StepFacts({ step, files }: { readonly step: Step; readonly files: readonly FileChange[] }): JSX.Element {
  const state = stateName(step.state);
  return (
    <>
      <Agent name={step.agent} />
      {step.tool !== undefined && <span>{firstLine(step.tool)}</span>}
      {state !== "" && <span class="state">{state}</span>}
      <time dateTime={step.startedAt}>{moment(step.startedAt)}</time>
      <span>{counted(files.length, "file")}</span>
      <Counts of={sums(files)} />
      {step.messageId !== undefined && (
        <a
          class="link"
          href={fragmentOf({
            page: "timeline",
            scope: step.sessionId,
            shown: { what: "turn", sessionId: step.sessionId, messageId: step.messageId },
          })}
        >
          prompt
        </a>
      )}
    </>
  );
}

/** What the step ran: the first question about a step that changed many files. */
function Command({ step: { command } }: { readonly step: Step }): JSX.Element {
  if (command === undefined) return <></>;
  return (
    <pre class="pane-note command" role="region" aria-label="Command" tabIndex={0}>
      {command.split("\n").map(visible).join("\n")}
    </pre>
  );
}

function Uncaptured({ step }: { readonly step: Step }): JSX.Element {
  const files = step.uncaptured ?? [];
  if (files.length === 0) return <></>;
  return (
    <details class="pane-note">
      <summary>{counted(files.length, "file")} outside all snapshots also changed; undo cannot restore them</summary>
      <ul>
        {files.map(({ file, change }) => (
          <li key={file}>
            {visible(file)} <span class="quiet">{change}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}
