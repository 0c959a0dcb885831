/** What an undo, a redo or a revert would do, before it does it. */
import type { Contested, Dispute, FileOutcome, OnConflict } from "@snapd/client";
import type { JSX } from "preact";
import { visible } from "../model/names";
import { isAbsent, plannedName, plannedSummary, reasonOf, reasonText, whoChangedAll } from "../model/outcome";
import { patchLines } from "../model/patch";
import { carryOut, dismiss, type Plan, plan, propose, type Result } from "../store/acting";
import { Age, Button, Counts, FileName, Trouble } from "./bits";
import { Dialog } from "./dialog";

export function PlanDialog(): JSX.Element | null {
  const current = plan.value;
  if (current === undefined) return null;
  const { proposal, result, problem, isDoing, isChanged } = current;
  return (
    <Dialog
      title={visible(proposal.title)}
      close={dismiss}
      isWide
      footer={
        <>
          <span class="plan-sum" role="status">
            {result !== undefined && plannedSummary(result.files)}
          </span>
          <Button label="Cancel" text="Cancel" onClick={dismiss} />
          <Button
            kind="primary"
            label={proposal.verb}
            text={proposal.verb}
            isDisabled={result === undefined || isDoing || problem !== undefined || !doesAnything(result, current)}
            onClick={() => void carryOut()}
          />
        </>
      }
    >
      {isChanged === true && (
        <p class="plan-changed" role="alert">
          Something changed meanwhile. This is what would be done now.
        </p>
      )}
      {problem !== undefined && <Trouble problem={problem} again={() => void propose(proposal, current.onConflict)} />}
      {problem === undefined && result === undefined && (
        <div class="skeleton plan-waiting" aria-label="Working it out" role="status" />
      )}
      {result !== undefined && <PlanBody plan={current} result={result} />}
    </Dialog>
  );
}

/** Whether it is of any use to do it: a step whose files are all kept counts as undone from then on. */
function doesAnything(result: Result, { onConflict }: Plan): boolean {
  return (
    onConflict === "keep" || result.files.some(({ outcome }) => ["restored", "deleted", "merged"].includes(outcome))
  );
}

function PlanBody({ plan: current, result }: { readonly plan: Plan; readonly result: Result }): JSX.Element {
  const contested = result.details?.contested ?? [];
  const clashes = result.files.filter(({ outcome }) => outcome === "conflict");
  const hasClash = clashes.length + contested.length > 0;
  const hasChoice = hasClash || isAbsent(result.files) || current.onConflict !== "merge";
  const diff = result.details?.diff ?? result.diff ?? "";
  return (
    <>
      {hasChoice && <Choice current={current} hasClash={hasClash} />}
      {contested.map((one) => (
        <Clash key={`${one.name} ${one.file}`} contested={one} />
      ))}
      <FileList files={result.files} />
      {result.details !== undefined && result.details.additions + result.details.deletions > 0 && (
        <p class="plan-counts">
          <span class="quiet">Lines that change</span> <Counts of={result.details} />
        </p>
      )}
      {diff !== "" && <Patch text={diff} />}
    </>
  );
}

const CHOICES: readonly { readonly value: OnConflict; readonly label: string; readonly hint: string }[] = [
  { value: "merge", label: "Leave conflicts alone", hint: "The files below stay as they are; the rest is done." },
  {
    value: "overwrite",
    label: "Overwrite",
    hint: "Later changes in these places are removed from the files; the history keeps them.",
  },
  {
    value: "keep",
    label: "Keep the files",
    hint: "The files stay as they are, and the step counts as undone.",
  },
];

function Choice({ current, hasClash }: { readonly current: Plan; readonly hasClash: boolean }): JSX.Element {
  return (
    <fieldset class="choice">
      <legend>
        {hasClash ? "Some files have since changed in the same places" : "Some files are as wanted already"}
      </legend>
      {CHOICES.map(({ value, label, hint }) => (
        <label key={value}>
          <input
            type="radio"
            name="conflict"
            checked={current.onConflict === value}
            onChange={() => void propose(current.proposal, value, current.isChanged)}
          />
          <span>
            <span class="choice-label">{label}</span>
            <span class="quiet">{hint}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

function Clash({ contested }: { readonly contested: Contested }): JSX.Element {
  const { file, reason, by, dispute } = contested;
  const last = by.find(({ elsewhere }) => elsewhere !== true);
  return (
    <section class="clash" aria-label={`Conflict in ${visible(file)}`}>
      <header>
        <FileName file={file} />
        <span class="quiet">
          {reason !== undefined && `${reasonText(reason)} `}
          {last !== undefined && `By ${whoChangedAll(by)}.`}
        </span>
        {last?.at !== undefined && <Age at={last.at} />}
      </header>
      {dispute !== undefined && <DisputeView dispute={dispute} />}
    </section>
  );
}

function DisputeView({ dispute }: { readonly dispute: Dispute }): JSX.Element {
  const sides = [
    { title: `In the file now, from line ${dispute.line}`, lines: dispute.now, kind: "same" },
    { title: "As the step left it", lines: dispute.left, kind: "removed" },
    { title: "As it should become", lines: dispute.wanted, kind: "added" },
  ];
  return (
    <div class="dispute">
      {sides.map(({ title, lines, kind }) => (
        <figure key={title} class={kind}>
          <figcaption>{title}</figcaption>
          {lines.length === 0 ? <p class="quiet">No lines</p> : <pre tabIndex={0}>{lines.map(visible).join("\n")}</pre>}
        </figure>
      ))}
    </div>
  );
}

/** Files that are named one by one. */
const MOST_FILES = 200;

function FileList({ files }: { readonly files: readonly FileOutcome[] }): JSX.Element {
  const named = files.slice(0, MOST_FILES);
  return (
    <ul class="outcomes">
      {named.map((file) => (
        <li key={file.uri ?? file.file}>
          <span class={`outcome is-${file.outcome}`}>{plannedName(file.outcome)}</span>
          <FileName file={file.file} />
          {file.reason !== undefined && <span class="quiet">{reasonOf(file)}</span>}
        </li>
      ))}
      {files.length > named.length && <li class="quiet">… and {files.length - named.length} more</li>}
    </ul>
  );
}

/** Lines of the diff that are drawn: it is for a look, and the whole is in the changes of the step. */
const MOST_LINES = 1000;

function Patch({ text }: { readonly text: string }): JSX.Element {
  const lines = [...patchLines(text.length > 2_000_000 ? text.slice(0, 2_000_000) : text)];
  return (
    <div class="patch" role="region" aria-label="What changes in the folder" tabIndex={0}>
      {lines.slice(0, MOST_LINES).map((line, at) => (
        <div key={at} class={`patch-line ${line.kind}`}>
          {visible(line.text.slice(0, 500))}
        </div>
      ))}
      {lines.length > MOST_LINES && <div class="patch-line note">… {lines.length - MOST_LINES} more lines</div>}
    </div>
  );
}
