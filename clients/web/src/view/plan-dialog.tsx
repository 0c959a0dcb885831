/** What an undo, a redo or a revert would do, before it does it. */
import type { Contested, Dispute, FileOutcome, GitOutcome, OnConflict } from "@snapd/client";
import { gitReasons, gitWords, movesGit } from "@snapd/client/words";
import type { JSX } from "preact";
import type { Decision } from "../api/routes";
import { exactName, visible } from "../model/names";
import { isAbsent, plannedName, plannedSummary, reasonOf, reasonText, whoChangedAll, written } from "../model/outcome";
import { patchLines } from "../model/patch";
import { carryOut, dismiss, type Plan, plan, propose, type Result } from "../store/acting";
import { Age, Button, Counts, FileName, Trouble } from "./bits";
import { Dialog } from "./dialog";

export function PlanDialog(): JSX.Element | null {
  const current = plan.value;
  if (current === undefined) return null;
  const { proposal, result, problem, isBusy, isChanged } = current;
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
            isDisabled={result === undefined || isBusy || problem !== undefined || !doesAnything(result, current)}
            onClick={() => void carryOut()}
          />
        </>
      }
    >
      {isChanged && (
        <p class="plan-changed" role="alert">
          Something has changed since. This is the new plan.
        </p>
      )}
      {problem !== undefined && (
        <Trouble problem={problem} again={() => void propose(proposal, { ...current, isChanged: false })} />
      )}
      {problem === undefined && result === undefined && (
        <div class="skeleton plan-waiting" aria-label="Preparing the plan" role="status" />
      )}
      {result !== undefined && <PlanBody plan={current} result={result} />}
    </Dialog>
  );
}

/** Whether it is of any use to do it: a step whose files are all kept counts as undone from then on. */
function doesAnything(result: Result, { onConflict, decisions }: Plan): boolean {
  const keeps = [onConflict, ...Object.values(decisions)].includes("keep");
  const isOfChat = result.chat !== undefined && result.chat.problem === undefined;
  return keeps || written(result.files).length > 0 || movesGit(result.git) || isOfChat;
}

function PlanBody({ plan: current, result }: { readonly plan: Plan; readonly result: Result }): JSX.Element {
  const { contested } = current;
  // one file is decided about where it stands
  const hasChoice =
    contested.length > 1 || current.onConflict !== "merge" || (contested.length === 0 && isAbsent(result.files));
  const diff = result.details?.diff ?? result.diff ?? "";
  return (
    <>
      {result.chat !== undefined && (
        <p class="plan-chat">Conversation: {visible(result.chat.problem ?? result.chat.summary ?? "")}</p>
      )}
      {result.git !== undefined && <GitChoice current={current} git={result.git} />}
      {hasChoice && <Choice current={current} hasClash={contested.length > 0} />}
      {contested.map((one, at) => (
        <Clash
          key={`${one.name} ${exactName(one)}`}
          contested={one}
          plan={current}
          isFirst={exactName(one) !== exactName(contested[at - 1] ?? { file: "" })}
        />
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

/** Whether what the steps did to git goes back as well, and what stays. */
function GitChoice({ current, git }: { readonly current: Plan; readonly git: GitOutcome }): JSX.Element {
  const words = visible(gitWords(git.changes));
  return (
    <fieldset class="choice" aria-label="Git">
      <label>
        <input
          type="checkbox"
          checked={current.git}
          onChange={() => void propose(current.proposal, { ...current, git: !current.git })}
        />
        <span>
          <span class="choice-label">
            Also {current.proposal.verb === "Redo" ? "redo git" : "take git back"}
            {words !== "" && `: ${words}`}
          </span>
          {git.left === true && <span class="quiet">Otherwise git stays as it is.</span>}
          {gitReasons(git).map((reason) => (
            <span key={reason} class="choice-label">
              Left in git: {visible(reason)}
            </span>
          ))}
        </span>
      </label>
    </fieldset>
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
        {hasClash ? "Some files have since changed in the same places" : "Some files already have the requested state"}
      </legend>
      {CHOICES.map(({ value, label, hint }) => (
        <label key={value}>
          <input
            type="radio"
            name="conflict"
            checked={current.onConflict === value}
            onChange={() => void propose(current.proposal, { ...current, onConflict: value, decisions: {} })}
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

interface ClashProps {
  readonly contested: Contested;
  readonly plan: Plan;
  /** Whether it is the first place of its file: a decision is about the whole file. */
  readonly isFirst: boolean;
}

function Clash({ contested, plan: current, isFirst }: ClashProps): JSX.Element {
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
      {isFirst && <DecisionChoice name={exactName(contested)} file={file} plan={current} />}
    </section>
  );
}

const DECISIONS: readonly { readonly value: Decision; readonly label: string; readonly hint: string }[] = [
  { value: "merge", label: "Skip", hint: "The file stays as it is, and can be undone later." },
  {
    value: "overwrite",
    label: "Overwrite",
    hint: "Later changes in these places are removed; the history keeps them.",
  },
  { value: "keep", label: "Keep", hint: "The file stays as it is, and counts as undone." },
];

interface DecisionProps {
  readonly name: string;
  readonly file: string;
  readonly plan: Plan;
}

/** The decision about one file in conflict. */
function DecisionChoice({ name, file, plan: current }: DecisionProps): JSX.Element {
  const { proposal, onConflict, decisions } = current;
  const chosen = decisions[name] ?? (onConflict === "fail" ? "merge" : onConflict);
  return (
    <fieldset class="decision">
      <legend class="heard">What to do with {visible(file)}</legend>
      {DECISIONS.map(({ value, label, hint }) => (
        <label key={value} title={hint}>
          <input
            type="radio"
            name={`decision ${name}`}
            checked={chosen === value}
            onChange={() => void propose(proposal, { ...current, decisions: { ...decisions, [name]: value } })}
          />
          {label}
        </label>
      ))}
      <span class="quiet">{DECISIONS.find(({ value }) => value === chosen)?.hint}</span>
    </fieldset>
  );
}

function DisputeView({ dispute }: { readonly dispute: Dispute }): JSX.Element {
  const sides = [
    { title: `In the file now, from line ${dispute.line}`, lines: dispute.now, kind: "same" },
    { title: "As the step left it", lines: dispute.left, kind: "removed" },
    { title: "As requested", lines: dispute.wanted, kind: "added" },
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
