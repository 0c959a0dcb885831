// Words and numbers as the views write them.

import type { Entry, FileChange, Session, Step } from "snapd-client";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Characters of the name of a step in a sentence, at most. */
const LONGEST = 60;

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
  // a clock that was set back is no reason to speak of the future
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

/** A local time for people, to the second: "2026-11-21 17:54:42". */
export function moment(at: string): string {
  const date = new Date(at);
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(":");
  return `${day(date)} ${time}`;
}

/** What a session is called. */
export function sessionName(session: Session): string {
  return firstLine(session.title) ?? firstLine(session.agent) ?? `Session ${session.sessionId.slice(0, 8)}`;
}

/** What a step is called. */
export function stepName(step: Step): string {
  return firstLine(step.description) ?? firstLine(step.tool) ?? stepNumber(step);
}

/** The place of a step in its session: "Step 3". */
export function stepNumber(step: Step): string {
  return `Step ${step.index + 1}`;
}

/** A step within a sentence: "step 3 “Edit”", or "step 3" where it has no name of its own. */
export function stepInSentence(step: Step): string {
  const [number, name] = [stepNumber(step), stepName(step)];
  return name === number ? lowered(number) : `${lowered(number)} “${shortened(name)}”`;
}

/** What became of a step, where that is to be told: nothing of one that is in force as a whole. */
export function takenBack(step: Step | undefined): string | undefined {
  return step?.state === "undone" ? "undone" : step?.state === "partly" ? "partly undone" : undefined;
}

/** The state of a step. */
export function stateInWords(step: Step): string {
  return takenBack(step) ?? (step.state === "open" ? "running" : step.state);
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
 * What an entry that is no step is called.
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
      return `You changed ${filesInSentence(entry.files)}`;
    case "undo":
      return `Undid ${steps ?? "steps"}`;
    case "redo":
      return `Redid ${steps ?? "steps"}`;
    case "restore":
      return "Restored a snapshot";
    case "revert":
      return `Reverted ${steps ?? filesInSentence(entry.files)}`;
    case "unrevert":
      return "Took back a revert";
    case "hunks":
      return `Took back changes in ${filesInSentence(entry.files)}`;
    default:
      // a later daemon may know more
      return `Changed ${filesInSentence(entry.files)}`;
  }
}

function filesInSentence(files: readonly FileChange[]): string {
  const [only, ...others] = files;
  if (only === undefined) return "nothing";
  return others.length > 0 ? counted(1 + others.length, "file") : only.file.slice(only.file.lastIndexOf("/") + 1);
}

function isBinary(files: readonly Counts[]): boolean {
  return files.length > 0 && files.every(({ binary }) => binary);
}

function shortened(text: string): string {
  const line = text.replace(/\s+/g, " ");
  const characters = Array.from(line);
  return characters.length <= LONGEST
    ? line
    : `${characters
        .slice(0, LONGEST - 1)
        .join("")
        .trimEnd()}…`;
}

function sums(files: readonly Counts[]): { added: number; deleted: number } {
  let [added, deleted] = [0, 0];
  for (const file of files) {
    added += file.additions;
    deleted += file.deletions;
  }
  return { added, deleted };
}

function firstLine(text: string | undefined): string | undefined {
  const line = text
    ?.trim()
    .split(/[\r\n]/, 1)[0]
    ?.trim();
  return line === "" ? undefined : line;
}

function day(date: Date): string {
  return [date.getFullYear(), twoDigits(date.getMonth() + 1), twoDigits(date.getDate())].join("-");
}

function twoDigits(count: number): string {
  return String(count).padStart(2, "0");
}
