/** Words and numbers as the page writes them. */
import type { Entry, FileChange, GitChange, Session, Step, StepProblem } from "@snapd/client";
import { agentTitle, AUTHORS, gitWords, OPERATIONS, SIGNATURES, STATES } from "@snapd/client/words";
import { firstLine, visible } from "./names";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * How long ago a time was, in few characters: "now", "5m", "3h", "2d", and after a week the day itself.
 *
 * @param at As RFC 3339 has it.
 * @param now Milliseconds since 1970.
 */
export function age(at: string, now: number): string {
  const passed = now - Date.parse(at);
  // if the clock was set back, do not show a time in the future
  if (passed < MINUTE) return "now";
  if (passed < HOUR) return `${Math.floor(passed / MINUTE)}m`;
  if (passed < DAY) return `${Math.floor(passed / HOUR)}h`;
  if (passed < 7 * DAY) return `${Math.floor(passed / DAY)}d`;
  const date = new Date(at);
  return date.toLocaleDateString("en", { month: "short", day: "numeric" });
}

/** A local time for people, to the second: "2026-11-21 17:54:42". */
export function moment(at: string): string {
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** A number with its noun: "1 file", "2,000 files". */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : many}`;
}

/** A number with its thousands apart. */
export function grouped(count: number): string {
  return count.toLocaleString("en");
}

/** What people call an agent. */
export function agentName(agent: string | undefined): string {
  return (agent === undefined ? undefined : firstLine(agentTitle(agent))) ?? "an agent";
}

const PROBLEMS: Readonly<Record<StepProblem["kind"], string>> = {
  conflict: "an undo left files in conflict",
  uncaptured: "changed files that no snapshot has",
  interrupted: "did not end",
};

/** What about a step needs a look. */
export function problemName(kind: StepProblem["kind"]): string {
  return PROBLEMS[kind];
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** The signature of a fetched session in words; undefined if it has none. */
function signed(session: Session): string | undefined {
  if (session.signature?.state === "good")
    return `signed by ${visible(session.signature.signer ?? "an unknown signer")}`;
  return session.signature && SIGNATURES[session.signature.state];
}

/** Which other machine a session is from, or which one took it over; undefined for one of this folder alone. */
export function otherMachine(session: Session): string | undefined {
  if (session.origin !== undefined)
    return [`from ${visible(session.origin.host)}`, signed(session)].filter(Boolean).join(", ");
  return session.takenOver === undefined ? undefined : `taken over by ${visible(session.takenOver.host)}`;
}

export function stepName(step: Step): string {
  return firstLine(step.description) ?? firstLine(step.tool) ?? `Step ${step.index + 1}`;
}

/** What a prompt is called, by its first line. */
export function promptName(text: string | undefined): string {
  return firstLine(text) ?? "Prompt without a text";
}

/** The state of a step in words; empty for an applied one. */
export function stateName(state: Step["state"]): string {
  return STATES[state];
}

/** What the user or an operation did. */
export function operationName(entry: Entry): string {
  if (entry.kind === "step" || entry.kind === "message") return "";
  const steps = entry.steps?.length ?? 0;
  const what =
    steps > 0 ? counted(steps, "step") : entry.files.length === 0 && entry.git ? "git" : filesName(entry.files);
  if (entry.kind !== "user") return `${capital(OPERATIONS[entry.kind].past)} ${what}`;
  return `${capital(AUTHORS[entry.unknown === true ? "unknown" : "user"])} changed ${what}`;
}

/** What was done to the folder's own git: "git: main 5f3c21a → 9a1b22c". */
export function gitName(git: GitChange): string {
  return visible(`git: ${gitWords(git)}`);
}

/** The one file by its name, or how many there are. */
export function filesName(files: readonly Pick<FileChange, "file">[]): string {
  const [first] = files;
  if (first === undefined) return "nothing";
  return files.length === 1 ? visible(first.file) : counted(files.length, "file");
}

export interface Sums {
  readonly additions: number;
  readonly deletions: number;
}

/** The lines of all these files. */
export function sums(files: readonly Sums[]): Sums {
  let [additions, deletions] = [0, 0];
  for (const file of files) {
    additions += file.additions;
    deletions += file.deletions;
  }
  return { additions, deletions };
}

/** The same in words, for screen readers: "12 lines added, 3 removed". */
export function sumsInWords({ additions, deletions }: Sums): string {
  return `${counted(additions, "line")} added, ${grouped(deletions)} removed`;
}
