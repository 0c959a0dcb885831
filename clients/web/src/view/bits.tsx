/** Small components that are used in many places. */
import type { FileChange, GitChange } from "@snapd/client";
import type { ComponentChildren, JSX } from "preact";
import type { Problem } from "../api/problem";
import { agentColour } from "@snapd/client/words";
import { cutParts, splitName, visible } from "../model/names";
import { age, agentName, gitName, grouped, moment, type Sums, sumsInWords } from "../model/wording";
import { now } from "../store/clock";
import { Icon, type IconName } from "./icons";

/** Lines added and removed. */
export function Counts({ of }: { readonly of: Sums }): JSX.Element | null {
  if (of.additions + of.deletions === 0) return null;
  return (
    <span class="counts" aria-label={sumsInWords(of)} role="img">
      <span class="plus">+{grouped(of.additions)}</span>
      <span class="minus">−{grouped(of.deletions)}</span>
    </span>
  );
}

/** How long ago something was, and when exactly. */
export function Age({ at }: { readonly at: string }): JSX.Element {
  return (
    <time class="age" dateTime={at} title={moment(at)}>
      {age(at, now.value)}
    </time>
  );
}

/** A name that is shortened in the middle: its end distinguishes it from others. */
export function Cut({ text }: { readonly text: string }): JSX.Element {
  const [head, tail] = cutParts(text);
  return (
    <span class="own-name">
      {head !== "" && <span class="cut-head">{head}</span>}
      <span class="cut-tail">{tail}</span>
    </span>
  );
}

/** The name of a file: where there is too little room, its folder is cut first, then the middle of its own name. */
export function FileName({ file }: { readonly file: string }): JSX.Element {
  const [folder, name] = splitName(file);
  return (
    <span class="file-name" title={visible(file)}>
      {folder !== "" && <span class="folder">{folder}</span>}
      <Cut text={name} />
    </span>
  );
}

/** An agent by its name, in its colour. */
export function Agent({ name }: { readonly name: string | undefined }): JSX.Element {
  const title = agentName(name);
  return (
    <span class="agent" style={colourOf(name)} title={title}>
      <span class="agent-dot" aria-hidden="true" />
      <span class="agent-name">{title}</span>
    </span>
  );
}

/** The colour of an agent, for `--agent` in the styles of what is inside. */
export function colourOf(agent: string | undefined): Record<string, string> {
  if (agent === undefined) return {};
  const { light, dark } = agentColour(agent);
  return { "--agent-light": light, "--agent-dark": dark };
}

const LETTERS = { added: "A", deleted: "D", modified: "M" } as const;

/** What happened to a file, as a letter. */
export function StatusLetter({ file }: { readonly file: FileChange }): JSX.Element {
  const [letter, word] = file.renamedFrom === undefined ? [LETTERS[file.status], file.status] : ["R", "renamed"];
  return (
    <span class={`letter ${word}`} title={word} role="img" aria-label={word}>
      {letter}
    </span>
  );
}

/** What was done to the folder's own git. */
export function GitLine({ git }: { readonly git: GitChange | undefined }): JSX.Element | null {
  return git === undefined ? null : <p class="pane-note">{gitName(git)}</p>;
}

/** Marks a file that git put there: whoever did the step did not write it. */
export function GitMark({ file }: { readonly file: FileChange }): JSX.Element | null {
  return file.byGit === true ? (
    <span class="state" title="Git put it there, by a checkout or a pull, say. It goes back with git.">
      by git
    </span>
  ) : null;
}

export interface ButtonProps {
  readonly icon?: IconName;
  readonly label: string;
  readonly onClick: () => void;
  /** The text beside the icon; without it, the label is only a tooltip and for screen readers. */
  readonly text?: string;
  readonly kind?: "plain" | "quiet" | "primary";
  readonly keys?: string;
  readonly isDisabled?: boolean;
}

export function Button({
  icon,
  label,
  onClick,
  text,
  kind = "plain",
  keys,
  isDisabled = false,
}: ButtonProps): JSX.Element {
  const title = keys === undefined ? label : `${label} (${keys})`;
  return (
    <button
      type="button"
      class={`button ${kind}`}
      aria-label={label}
      title={title}
      disabled={isDisabled}
      onClick={onClick}
    >
      {icon !== undefined && <Icon name={icon} />}
      {text !== undefined && <span>{text}</span>}
    </button>
  );
}

/** What stands where there is nothing to show: what that means, and what to do. */
export function Empty({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}): JSX.Element {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

/** What went wrong in a part of the page. */
export function Trouble({ problem, again }: { readonly problem: Problem; readonly again?: () => void }): JSX.Element {
  return (
    <div class="trouble" role="alert">
      <Icon name="warning" />
      <div>
        <p>{visible(problem.message)}</p>
        {problem.hint !== undefined && <p class="quiet">{visible(problem.hint)}</p>}
      </div>
      {again !== undefined && <Button label="Try again" text="Try again" onClick={again} />}
    </div>
  );
}
