// The scenarios of `clients/conformance`, and what fits a pattern of theirs. Its README explains them.

import { readdirSync, readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";

/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** Something that an editor does. */
export interface DocumentAction {
  document: "open" | "change" | "save" | "close";
  file: string;
  text?: string;
}

/** One thing that happens in a scenario. */
export type Action =
  | { request: string; params: Json; result?: Json; error?: Json }
  | { write: Record<string, string | null> }
  | { holds: Record<string, string | null> }
  | { notification: string; params: Json }
  | DocumentAction;

/** A scenario. */
export interface Scenario {
  name: string;
  /** Whether it sends an array as params, which vscode-jsonrpc takes for positional arguments. */
  arrays?: true;
  files?: Record<string, string>;
  actions: Action[];
}

/** What was kept, by its name. */
export type Kept = Map<string, Json>;

const FOLDER = resolve("../conformance");
const MATCHING = "matching.json";

/** The cases that say what a pattern means. */
export const CASES = read(MATCHING) as unknown as { pattern: Json; value: Json; fits: boolean }[];

/** All scenarios that can be sent, with the list that each is from. */
export const SCENARIOS: { list: string; scenario: Scenario }[] = readdirSync(FOLDER)
  .filter((name) => name.endsWith(".json") && name !== MATCHING)
  .sort()
  .flatMap((name) =>
    (read(name) as unknown as Scenario[])
      .filter(({ arrays }) => arrays !== true)
      .map((scenario) => ({ list: basename(name, ".json"), scenario })),
  );

const KINDS: Record<string, (value: Json) => boolean> = {
  string: (value) => typeof value === "string" && value !== "",
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === "boolean",
  array: (value) => Array.isArray(value),
  object: isObject,
  hash: (value) => typeof value === "string" && /^[0-9a-f]{40}$/.test(value),
  time: (value) => typeof value === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(value),
};

/** Params with what was kept in its places. */
export function filled(value: Json, kept: Kept): Json {
  if (Array.isArray(value)) return value.map((each) => filled(each, kept));
  if (!isObject(value)) return value;
  if ("$use" in value) return used(value["$use"], kept);
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, filled(each, kept)]));
}

/**
 * Says where a value does not fit a pattern; undefined if it does. What the pattern keeps goes into `kept`.
 *
 * @param at - where the value is, for what is said.
 */
export function misfit(pattern: Json, value: Json, kept: Kept, at = ""): string | undefined {
  if (Array.isArray(pattern)) {
    if (!Array.isArray(value) || value.length !== pattern.length) {
      return `${at}: ${JSON.stringify(value)} is not an array of ${String(pattern.length)}`;
    }
    return first(pattern, (wanted, number) => misfit(wanted, value[number] ?? null, kept, `${at}[${String(number)}]`));
  }
  if (isObject(pattern)) return misfitOfObject(pattern, value, kept, at);
  return pattern === value ? undefined : `${at}: ${JSON.stringify(value)} is not ${JSON.stringify(pattern)}`;
}

function misfitOfObject(pattern: Record<string, Json>, value: Json, kept: Kept, at: string): string | undefined {
  const shown = JSON.stringify(value);
  const { $use, $is, $keep, $contains, $has } = pattern;
  if ($use !== undefined) return misfit(used($use, kept), value, kept, at);
  if (typeof $is === "string") {
    if (KINDS[$is]?.(value) !== true) return `${at}: ${shown} is not: ${$is}`;
    if (typeof $keep === "string") kept.set($keep, value);
    return undefined;
  }
  if (typeof $contains === "string") {
    const has = typeof value === "string" && value.includes($contains);
    return has ? undefined : `${at}: ${shown} does not contain ${$contains}`;
  }
  if (Array.isArray($has)) {
    if (!Array.isArray(value)) return `${at}: ${shown} is not an array`;
    return first($has, (wanted) =>
      value.some((each) => misfit(wanted, each, kept, at) === undefined)
        ? undefined
        : `${at}: nothing in ${shown} fits ${JSON.stringify(wanted)}`,
    );
  }
  if (!isObject(value)) return `${at}: ${shown} is not an object`;
  return first(Object.entries(pattern), ([name, wanted]) => {
    const found = value[name];
    if (isObject(wanted) && wanted["$absent"] === true) {
      return found === undefined ? undefined : `${at}.${name}: there is ${JSON.stringify(found)}`;
    }
    return found === undefined ? `${at}.${name} is not there` : misfit(wanted, found, kept, `${at}.${name}`);
  });
}

function first<T>(items: readonly T[], problem: (item: T, number: number) => string | undefined): string | undefined {
  for (const [number, item] of items.entries()) {
    const found = problem(item, number);
    if (found !== undefined) return found;
  }
  return undefined;
}

function used(name: Json, kept: Kept): Json {
  const value = typeof name === "string" ? kept.get(name) : undefined;
  if (value === undefined) throw new Error(`nothing was kept as ${JSON.stringify(name)}`);
  return value;
}

function isObject(value: Json): value is Record<string, Json> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function read(name: string): Json {
  return JSON.parse(readFileSync(join(FOLDER, name), "utf8")) as Json;
}
