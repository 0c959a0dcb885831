// How an item looks: its texts and its icon. Nothing here knows VS Code.

import { agentTitle, type Entry, overlapLine, type Step } from "@snapd/client";
import { entryKey, lastActivity } from "../model/history";
import { splitName } from "../model/fileUris";
import { type TurnState, filesChanged, turnKey } from "../model/turns";
import {
  ago,
  capitalized,
  counted,
  eventName,
  gitInWords,
  lines,
  linesInWords,
  moment,
  otherMachine,
  stateInWords,
  stepName,
  stepNumber,
  takenBack,
  turnName,
} from "../model/wording";
import type { FileItem, FolderItem, Item, OperationItem, SessionItem, StepItem, TurnItem, UserItem } from "./items";
import { letterOf, markUri } from "./marks";

/** How an item looks. */
export interface Presentation {
  readonly label: string;
  readonly description: string;
  readonly tooltip: string;
  /** For screen readers: in words. */
  readonly spoken: string;
  /** A product icon; undefined where the icon is that of the file. */
  readonly icon: string | undefined;
  /** Whether the icon is shown in a quiet colour. */
  readonly quiet: boolean;
  /** The agent whose colour the icon has, if it is not quiet. */
  readonly agent?: string | undefined;
  /** A `markUri`, where there is something to decorate. */
  readonly mark: string | undefined;
}

const OPERATION_ICONS: Partial<Record<Entry["kind"], string>> = {
  undo: "discard",
  redo: "redo",
  restore: "history",
  unrevert: "redo",
};

/**
 * How an item looks.
 *
 * @param now - milliseconds since 1970.
 */
export function present(item: Item, now: number): Presentation {
  switch (item.kind) {
    case "folder":
      return ofFolder(item);
    case "session":
      return ofSession(item, now);
    case "turn":
      return ofTurn(item, now);
    case "step":
      return ofStep(item, now);
    case "user":
    case "operation":
      return ofEvent(item, now);
    case "file":
      return ofFile(item);
  }
}

/** A file in the timeline of its file: what happened to it, and when. */
export function presentInTimeline(item: FileItem, now: number): Presentation {
  const { entry, step, file, folder } = item;
  const name = step === undefined ? eventName(entry, (id) => folder.step(id)) : stepName(step);
  const who = step?.agent === undefined ? undefined : agentTitle(step.agent);
  const undone = step?.state === "undone";
  const change = lines([file]);
  const when = ago(entry.at, now);
  return {
    label: name,
    description: joined([who, takenBack(step), change, when]),
    tooltip: [name, ...(step === undefined ? [] : stepFacts(step)), ...fileFacts(item), moment(entry.at)].join("\n"),
    spoken: [
      step === undefined ? name : [stepNumber(step), name === stepNumber(step) ? undefined : name],
      who,
      takenBack(step),
      spokenChange(item),
      when,
    ]
      .flat()
      .filter((part) => part !== undefined)
      .join(", "),
    icon: step === undefined ? eventIcon(entry) : stepIcon(step),
    quiet: step === undefined || undone,
    agent: step?.agent,
    mark: undone ? markUri(step.stepId, { letter: undefined, undone: true }) : undefined,
  };
}

function ofFolder({ folder }: FolderItem): Presentation {
  const open = openSteps(folder.entries);
  const description =
    folder.problem?.message ??
    (!folder.enabled ? "snapshots are off" : open > 0 ? `${counted(open, "step")} running` : "");
  return {
    label: folder.name,
    description,
    tooltip: description === "" ? folder.name : `${folder.name}\n${description}`,
    spoken: joined([folder.name, description], ", "),
    icon: folder.problem === undefined ? "root-folder" : "warning",
    quiet: false,
    mark: undefined,
  };
}

function ofSession({ session, folder }: SessionItem, now: number): Presentation {
  const name = session.name;
  const title = session.agent === undefined ? undefined : agentTitle(session.agent);
  const agent = session.agent === name || title === name ? undefined : title;
  const steps = counted(session.stepCount, "step");
  const when = ago(lastActivity(session, folder.entries), now);
  const machine = otherMachine(session);
  return {
    label: name,
    description: joined([agent, machine, steps, when]),
    tooltip: [
      name,
      title === undefined ? undefined : `Agent: ${title}`,
      `Session: ${session.sessionId}`,
      session.origin === undefined ? undefined : `Fetched from: ${session.origin.remote} (${session.origin.host})`,
      session.takenOver === undefined ? undefined : `Taken over by: ${session.takenOver.host}`,
      `Started: ${moment(session.startedAt)}`,
      session.endedAt === undefined ? undefined : `Ended: ${moment(session.endedAt)}`,
      `${steps}, ${session.undoable} to undo, ${session.redoable} to redo`,
    ]
      .filter((line) => line !== undefined)
      .join("\n"),
    spoken: joined([`Session ${name}`, agent, machine, steps, when], ", "),
    icon: "comment-discussion",
    quiet: session.endedAt !== undefined,
    agent: session.agent,
    mark: undefined,
  };
}

function ofTurn({ turn, folder }: TurnItem, now: number): Presentation {
  const { steps, changes, state, isCut } = turn;
  const name = turnName(turn);
  const count = isCut ? `${steps.length} or more steps` : counted(steps.length, "step");
  const files = counted(filesChanged(turn), "file");
  const when = ago(turn.at, now);
  const changed = changes.length > 0;
  // a sum that leaves out what is not known would be wrong
  const sum = isCut ? undefined : lines(changes);
  const what = state === "open" ? "running" : takenBack(turn);
  return {
    label: name,
    description:
      steps.length === 0 ? when : joined([what, count, changed ? sum : state === "open" ? "" : "no changes", when]),
    tooltip: [
      turn.text?.trim() ?? name,
      "",
      joined([steps.length === 0 ? "No steps" : count, what ?? (changed ? "applied" : "no changes")], ", "),
      changed && !isCut ? joined([files, linesInWords(changes)], ", ") : undefined,
      moment(turn.at),
    ]
      .filter((line) => line !== undefined)
      .join("\n"),
    spoken: joined(
      [
        turn.text === undefined ? name : `Turn ${name}`,
        what,
        steps.length === 0 ? "no steps" : count,
        changed && !isCut ? joined([files, linesInWords(changes)], ", ") : undefined,
        when,
      ],
      ", ",
    ),
    icon: turnIcon(turn.state),
    quiet: state === "empty" || state === "undone",
    agent: folder.session(turn.sessionId)?.agent,
    mark: state === "undone" ? markUri(turnKey(turn), { letter: undefined, undone: true }) : undefined,
  };
}

function ofStep({ step, entry }: StepItem, now: number): Presentation {
  const [name, number] = [stepName(step), stepNumber(step)];
  const undone = step.state === "undone";
  const when = ago(step.endedAt ?? step.startedAt, now);
  const files = entry.files;
  const git = gitInWords(step.git);
  const changed = files.length > 0;
  return {
    label: name,
    description:
      step.state === "open"
        ? joined(["running", when])
        : joined([
            takenBack(step),
            ...(changed ? [lines(files), counted(files.length, "file")] : [git ?? "no changes"]),
            step.overlaps && "overlap",
            when,
          ]),
    tooltip: [step.description?.trim() ?? name, ...stepFacts(step)].join("\n"),
    spoken: joined(
      [
        number,
        name === number ? undefined : name,
        stateInWords(step),
        step.state === "open" ? undefined : changed ? counted(files.length, "file") : (git ?? "no changes"),
        changed ? linesInWords(files) : undefined,
        step.overlaps && overlapLine(step.overlaps),
        when,
      ],
      ", ",
    ),
    icon: stepIcon(step),
    quiet: undone,
    agent: step.agent,
    mark: undone ? markUri(entryKey(entry), { letter: undefined, undone: true }) : undefined,
  };
}

function ofEvent({ entry, folder }: UserItem | OperationItem, now: number): Presentation {
  const name = eventName(entry, (id) => folder.step(id));
  const when = ago(entry.at, now);
  const changed = entry.files.length > 0;
  const git = gitInWords(entry.git);
  return {
    label: name,
    description: joined([changed ? lines(entry.files) : git, when]),
    tooltip: [
      name,
      entry.unknown === true
        ? "A repository in this folder has a history of its own, which knows who changed this."
        : entry.kind === "user"
          ? "You changed this yourself, so undoing a step does not affect it."
          : undefined,
      git,
      moment(entry.at),
    ]
      .filter((line) => line !== undefined)
      .join("\n"),
    spoken: joined([name, changed ? linesInWords(entry.files) : git, when], ", "),
    icon: eventIcon(entry),
    quiet: true,
    mark: undefined,
  };
}

function ofFile(item: FileItem): Presentation {
  const { file, step } = item;
  const { base, directory } = splitName(file.file);
  const from = file.movedFrom === undefined ? undefined : `← ${shortestName(file.movedFrom.file, directory)}`;
  return {
    label: base,
    description: joined([from, directory, lines([file]), file.byGit === true ? "by git" : undefined]),
    tooltip: fileFacts(item).join("\n"),
    spoken: joined([base, directory === "" ? undefined : `in ${directory}`, spokenChange(item)], ", "),
    icon: undefined,
    quiet: false,
    mark: markUri(file.file, { letter: letterOf(file), undone: step?.state === "undone" }),
  };
}

function stepFacts(step: Step): string[] {
  const facts = [
    `${stepNumber(step)}, ${stateInWords(step)}`,
    step.agent === undefined ? undefined : `Agent: ${agentTitle(step.agent)}`,
    step.tool === undefined ? undefined : `Tool: ${step.tool}`,
    step.command === undefined ? undefined : `Command: ${step.command}`,
    gitInWords(step.git),
    step.overlaps && capitalized(overlapLine(step.overlaps)),
    `Started: ${moment(step.startedAt)}`,
    step.endedAt === undefined ? undefined : `Ended: ${moment(step.endedAt)}`,
  ];
  return facts.filter((fact) => fact !== undefined);
}

function fileFacts({ file }: FileItem): string[] {
  const facts = [
    file.file,
    file.movedFrom === undefined ? undefined : `Renamed from ${file.movedFrom.file}`,
    capitalized(linesInWords([file])),
    file.shared === true ? "Shared: a step of another session was open too and may have changed it." : undefined,
    file.byGit === true ? "By git: a checkout or a pull, say, put it there. It goes back with git." : undefined,
  ];
  return facts.filter((fact) => fact !== undefined).filter((fact) => fact !== "");
}

function spokenChange({ file }: FileItem): string {
  const what = file.movedFrom === undefined ? file.status : `renamed from ${file.movedFrom.file}`;
  return joined([what, linesInWords([file]), file.byGit === true ? "by git" : undefined], ", ");
}

/** The name of a file that was renamed: without its folder where that stayed. */
function shortestName(old: string, directory: string): string {
  const split = splitName(old);
  return split.directory === directory ? split.base : old;
}

function stepIcon({ state }: Step): string {
  return stateIcon(state);
}

function stateIcon(state: Step["state"]): string {
  switch (state) {
    case "open":
      return "loading~spin";
    case "undone":
      return "discard";
    case "partly":
      return "warning";
    case "applied":
      return "check";
  }
}

function turnIcon(state: TurnState): string {
  switch (state) {
    case "applied":
    case "empty":
      return "comment";
    default:
      return stateIcon(state);
  }
}

function eventIcon(entry: Entry): string {
  return entry.kind === "user" ? "account" : (OPERATION_ICONS[entry.kind] ?? "discard");
}

/** How many steps are running. */
function openSteps(entries: readonly Entry[]): number {
  return entries.filter(({ step }) => step?.state === "open").length;
}

function joined(parts: readonly (string | undefined)[], separator = " · "): string {
  return parts.filter((part) => part !== undefined && part !== "").join(separator);
}
