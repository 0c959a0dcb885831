// Which agents report their steps to snapd, and connecting more: `snapd agent` does it, and says what came of it.

import type { Finished } from "./processes";

/** An agent that snapd knows. */
export interface Agent {
  readonly name: string;
  readonly title: string;
  /** Whether it is on this computer. */
  readonly found: boolean;
  /** Whether snapd's hooks are in its settings. */
  readonly installed: boolean;
  /** What the user has to do before its hooks run; undefined where there is nothing. */
  readonly hint: string | undefined;
}

/** The arguments that list the agents. */
export const STATUS_ARGUMENTS: readonly string[] = ["agent", "status", "--json"];

/** The arguments that write hooks into the settings of agents. */
export function installArguments(agents: readonly Agent[]): string[] {
  return ["agent", "install", "--json", ...agents.map(({ name }) => name)];
}

/**
 * Reads the answer of `snapd agent status --json`.
 *
 * @throws Error - It is not such an answer; the message is the output.
 */
export function agentsOf(finished: Finished): readonly Agent[] {
  const { agents } = answerIn(finished) as { agents?: readonly Record<string, unknown>[] };
  return (agents ?? []).map(({ name, title, found, installed, hint }) => ({
    name: String(name),
    title: String(title),
    found: found === true,
    installed: installed === true,
    hint: installed === true && typeof hint === "string" ? hint : undefined,
  }));
}

/**
 * The agents of `snapd agent install --json` whose settings could not be written, each with the reason.
 *
 * @throws Error - It is not such an answer; the message is the output.
 */
export function failuresOf(finished: Finished): readonly string[] {
  const { files } = answerIn(finished) as { files?: readonly Record<string, unknown>[] };
  return (files ?? []).flatMap(({ file, error }) =>
    error === undefined ? [] : [`${String(file)}: ${errorText(error)}`],
  );
}

/** The message about newly connected agents, with the steps that some still need from the user. */
export function connectedMessage(agents: readonly Agent[]): string {
  const names = agents.map(({ title }) => title);
  const last = names.pop() ?? "no agent";
  const all = names.length === 0 ? last : `${names.join(", ")} and ${last}`;
  const hints = agents.flatMap(({ title, hint }) => (hint === undefined ? [] : [`${title}: ${hint}.`]));
  const restart = names.length === 0 ? "Restart it if it is running." : "Restart those that are running.";
  return [`Connected ${all}.`, restart, ...hints].join(" ");
}

function answerIn({ code, stdout, stderr }: Finished): object {
  let answer: unknown;
  try {
    answer = JSON.parse(stdout);
  } catch {
    throw new Error(stderr.trim() || `snapd ended with code ${String(code)}`);
  }
  if (typeof answer !== "object" || answer === null) throw new Error(`snapd said ${stdout.slice(0, 200)}`);
  if ("error" in answer) throw new Error(errorText(answer.error));
  return answer;
}

function errorText(error: unknown): string {
  const { message, hint } = (typeof error === "object" && error !== null ? error : {}) as Record<string, unknown>;
  return [message, hint].filter((part) => typeof part === "string").join("; ") || String(error);
}
