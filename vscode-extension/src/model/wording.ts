// Words and numbers as the views write them.

import {
  type Entry,
  type FileChange,
  type GitChange,
  gitWords,
  SIGNATURES,
  STATES,
  type Session,
  type Step,
} from "@snapd/client";
import type { Turn } from "./turns";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Characters of the name of a step or a turn in a sentence, at most. */
const LONGEST = 60;
/** Characters of the name of a turn in a row, at most: what stands behind it is to be seen as well. */
const LONGEST_IN_ROW = 48;
/** Invisible characters that change how text is drawn: prompts contain pasted text. */
const UNSEEN = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;

/** The line counts of a file. */
type Counts = Pick<FileChange, "additions" | "deletions" | "binary">;

/**
 * How long ago a time was: "just now", "5 min ago", "3 h ago", "2 days ago", and after a month the day itself.
 *
 * @param at - as RFC 3339 has it.
 * @param now - milliseconds since 1970.
 */
export function ago(at: string, now: number): string {
  const time = Date.parse(at);
  const passed = now - time;
  // if the clock was set back, do not show a time in the future
  if (passed < MINUTE) return "just now";
  if (passed < HOUR) return `${Math.floor(passed / MINUTE)} min ago`;
  if (passed < DAY) return `${Math.floor(passed / HOUR)} h ago`;
  if (passed < 30 * DAY) return counted(Math.floor(passed / DAY), "day") + " ago";
  return `on ${day(new Date(time))}`;
}

/** A number with its noun: "1 file", "2 files". */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** Lines added and deleted: "+12 −3", or "binary" where no file has lines; empty where no line is another. */
export function lines(files: readonly Counts[]): string {
  const { added, deleted } = sums(files);
  return added + deleted > 0 ? `+${added} −${deleted}` : isBinary(files) ? "binary" : "";
}

/** The same in words: "12 lines added, 3 removed". */
export function linesInWords(files: readonly Counts[]): string {
  const { added, deleted } = sums(files);
  if (added + deleted === 0) return isBinary(files) ? "binary" : "";
  return `${counted(added, "line")} added, ${deleted} removed`;
}

/** What was done to the folder's own git: "git: main 5f3c21a → 9a1b22c". */
export function gitInWords(git: GitChange | undefined): string | undefined {
  return git && `git: ${gitWords(git)}`;
}

/** A local time for people, to the second: "2026-11-21 17:54:42". */
export function moment(at: string): string {
  const date = new Date(at);
  return `${day(date)} ${minute(date)}:${twoDigits(date.getSeconds())}`;
}

/** The signature of a fetched session in words; undefined if it has none. */
function signed(session: Session): string | undefined {
  if (session.signature?.state === "good")
    return `signed by ${firstLine(session.signature.signer) ?? "an unknown signer"}`;
  return session.signature && SIGNATURES[session.signature.state];
}

/** Which other machine a session is from, or which one took it over; undefined for one of this folder alone. */
export function otherMachine(session: Session): string | undefined {
  if (session.origin !== undefined)
    return [`from ${firstLine(session.origin.host) ?? "elsewhere"}`, signed(session)].filter(Boolean).join(", ");
  return session.takenOver === undefined
    ? undefined
    : `taken over by ${firstLine(session.takenOver.host) ?? "another machine"}`;
}

/** What a step is called. */
export function stepName(step: Step): string {
  return firstLine(step.description) ?? firstLine(step.tool) ?? stepNumber(step);
}

/** The place of a step in its session: "Step 3". */
export function stepNumber(step: Step): string {
  return `Step ${step.index + 1}`;
}

/** What a step is called, in a line that has little room. */
export function stepNameInLine(step: Step): string {
  return shortened(stepName(step), LONGEST_IN_ROW);
}

/** A step within a sentence: "step 3 “Edit”", or "step 3" where it has no name of its own. */
export function stepInSentence(step: Step): string {
  const [number, name] = [stepNumber(step), stepName(step)];
  return name === number ? lowered(number) : `${lowered(number)} ${quoted(name)}`;
}

/** The name of a turn: the first line of its prompt, or its time if the prompt is unknown. */
export function turnName(turn: Pick<Turn, "text" | "at">): string {
  return promptLine(turn, LONGEST_IN_ROW) ?? `Turn at ${minute(new Date(turn.at))}`;
}

/** A turn within a sentence: "the turn “Fix the tests”", or "the turn at 14:32". */
export function turnInSentence(turn: Pick<Turn, "text" | "at">): string {
  const line = promptLine(turn, LONGEST);
  return line === undefined ? `the turn at ${minute(new Date(turn.at))}` : `the turn ${quoted(line)}`;
}

/** A name in a list to choose from: VS Code draws icons for some texts in it, which this keeps apart. */
export function inList(name: string): string {
  return name.replaceAll("$(", "$\u200b(");
}

/** The state of a step or a turn in words; undefined for one that is fully applied. */
export function takenBack(step: { readonly state: Turn["state"] } | undefined): string | undefined {
  return step?.state === "undone" || step?.state === "partly" ? STATES[step.state] : undefined;
}

/** The state of a step. */
export function stateInWords(step: Step): string {
  return STATES[step.state] === "" ? step.state : STATES[step.state];
}

/** Words as the beginning of a sentence. */
export function capitalized(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

/** Words as they stand within a sentence. */
export function lowered(words: string): string {
  return `${words.charAt(0).toLowerCase()}${words.slice(1)}`;
}

/**
 * The name of an entry that is not a step.
 *
 * @param find - finds a step by its name.
 */
export function eventName(entry: Entry, find: (stepId: string) => Step | undefined): string {
  const [only, ...others] = entry.steps ?? [];
  const turned = only === undefined ? undefined : others.length > 0 ? undefined : find(only);
  const steps =
    turned !== undefined ? stepInSentence(turned) : only === undefined ? undefined : counted(1 + others.length, "step");
  switch (entry.kind) {
    case "step":
      return entry.step === undefined ? "Step" : stepName(entry.step);
    case "user":
      return `${entry.unknown === true ? "Someone" : "You"} changed ${changedInSentence(entry)}`;
    case "undo":
      return `Undid ${steps ?? "steps"}`;
    case "redo":
      return `Redid ${steps ?? "steps"}`;
    case "restore":
      return "Restored a snapshot";
    case "revert":
      return `Reverted ${steps ?? changedInSentence(entry)}`;
    case "unrevert":
      return "Undid a revert";
    case "hunks":
      return `Undid changes in ${changedInSentence(entry)}`;
    case "message":
      return capitalized(turnInSentence(entry));
    default:
      // a later daemon may know more
      return `Changed ${changedInSentence(entry)}`;
  }
}

function changedInSentence({ files, git }: Entry): string {
  const [only, ...others] = files;
  if (only === undefined) return git === undefined ? "nothing" : "git";
  return others.length > 0 ? counted(1 + others.length, "file") : only.file.slice(only.file.lastIndexOf("/") + 1);
}

function isBinary(files: readonly Counts[]): boolean {
  return files.length > 0 && files.every(({ binary }) => binary);
}

function shortened(text: string, most: number): string {
  const characters = Array.from(text);
  if (characters.length <= most) return text;
  const cut = characters.slice(0, most - 1).join("");
  // at the end of a word, unless that leaves next to nothing
  const words = cut.slice(0, Math.max(0, `${cut}${characters[most - 1] ?? ""}`.lastIndexOf(" ")));
  return `${(words.length > cut.length / 2 ? words : cut).trimEnd()}…`;
}

/** A name in a sentence; a notification would take some texts for a link. */
function quoted(name: string): string {
  return `“${shortened(name.replace(/\s+/g, " "), LONGEST).replaceAll("](", "] (")}”`;
}

function promptLine({ text }: Pick<Turn, "text">, most: number): string | undefined {
  const lines = (text ?? "").split(/[\r\n]/).map((line) => line.replace(UNSEEN, " ").replace(/\s+/g, " ").trim());
  const first = lines.find((line) => line !== "");
  return first === undefined ? undefined : shortened(first, most);
}

function sums(files: readonly Counts[]): { added: number; deleted: number } {
  let [added, deleted] = [0, 0];
  for (const file of files) {
    added += file.additions;
    deleted += file.deletions;
  }
  return { added, deleted };
}

/** A text of some lines that others wrote; a mark stands for each invisible character that would change how it is drawn. */
export function visibleText(text: string): string {
  return text.replace(/\r\n/g, "\n").replace(UNSEEN, (unit) => (unit === "\n" || unit === "\t" ? unit : "\ufffd"));
}

export function firstLine(text: string | undefined): string | undefined {
  const line = text
    ?.trim()
    .split(/[\r\n]/, 1)[0]
    ?.trim();
  return line === "" ? undefined : line;
}

function day(date: Date): string {
  return [date.getFullYear(), twoDigits(date.getMonth() + 1), twoDigits(date.getDate())].join("-");
}

function minute(date: Date): string {
  return `${twoDigits(date.getHours())}:${twoDigits(date.getMinutes())}`;
}

function twoDigits(count: number): string {
  return String(count).padStart(2, "0");
}
