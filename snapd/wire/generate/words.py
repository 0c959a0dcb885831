"""Generates the vocabulary for people in TypeScript and in Lua."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from snapd.wire import words

from .classes import BANNER

_MAPS = (
    ("REASONS", words.REASONS),
    ("SYSTEM_ERRORS", words.SYSTEM_ERRORS),
    ("OUTCOMES", words.OUTCOMES),
    ("OPERATIONS", words.OPERATIONS),
    ("STATES", words.STATES),
    ("AUTHORS", words.AUTHORS),
    ("SIGNATURES", words.SIGNATURES),
    ("SNAPSHOT_KINDS", words.SNAPSHOT_KINDS),
    ("ERROR_TITLES", words.ERROR_TITLES),
    ("GIT_PART_REASONS", words.GIT_PART_REASONS),
)
_LISTS = (
    ("WRITTEN_OUTCOMES", words.WRITTEN_OUTCOMES),
    ("LEFT_OUTCOMES", words.LEFT_OUTCOMES),
    ("ELSEWHERE_REASONS", words.ELSEWHERE_REASONS),
    ("ABSENT_REASONS", words.ABSENT_REASONS),
    ("PALETTE", words.PALETTE),
)
_TYPESCRIPT = r"""
/** What every face calls reasons, outcomes, states, operations, errors and agents. */
import type { GitChange, GitOutcome, GitRef, OutcomeKind, Overlap, RevertKind, Step } from "./protocol.js";

/** A colour for an agent: on a light ground and on a dark one as CSS writes it, and among the 256 of terminals. */
export interface AgentColour {
  readonly name: string;
  readonly light: string;
  readonly dark: string;
  readonly terminal: number;
}

{{tables}}

/**
 * A reason in words; an unknown one stays as it is.
 *
 * @param reason - as the wire has it, or the name of an error of the system, such as "EACCES".
 * @param branch - the branch that has the change.
 */
export function reasonText(reason: string, branch?: string): string {
  if (branch !== undefined) return `the change is on branch ${branch}`;
  return own(REASONS, reason) ?? own(SYSTEM_ERRORS, reason) ?? reason;
}

/** A heading for a kind of error; an unknown one stays as it is. */
export function errorTitle(kind: string): string {
  return own(ERROR_TITLES, kind) ?? kind;
}

/** What people call an agent. */
export function agentTitle(agent: string): string {
  return own(AGENTS, agent)?.title ?? agent;
}

/** What other agents had changed in the files of a step, in one line. */
export function overlapLine(overlaps: readonly Overlap[]): string {
  const files = new Map<string, Set<string>>();
  for (const overlap of overlaps) {
    const who = overlap.agent === undefined ? "an agent" : agentTitle(overlap.agent);
    files.set(who, (files.get(who) ?? new Set()).add(overlap.file));
  }
  const clauses = [...files].map(([who, names]) => `what ${who} had changed in ${[...names].join(", ")}`);
  return `did not know ${clauses.join(", or ")}`;
}

/** The colour of an agent: the same everywhere and every time. */
export function agentColour(agent: string): AgentColour {
  const name = own(AGENTS, agent)?.colour;
  let number = 0;
  for (const byte of new TextEncoder().encode(agent)) number = (number * 31 + byte) % 65521;
  return (PALETTE.find((colour) => colour.name === name) ?? PALETTE[number % PALETTE.length]) as AgentColour;
}

/** Whether lists leave a step out: it is over, changed nothing, and is a single call or has no title. */
export function isEmpty(step: Step): boolean {
  if (step.state === "open" || step.late === true || step.git !== undefined) return false;
  if (filled(step.files) || filled(step.uncaptured)) return false;
  return step.partId !== undefined || (step.tool ?? step.description ?? step.messageId) === undefined;
}

/** How the folder's own git changed, in a line: "main 5f3c21a → 9a1b22c, branch topic deleted". */
export function gitWords({ repository, head, refs, staged, operation }: GitChange): string {
  const parts = repository === undefined ? [] : [`repository ${repository}`];
  if (head !== undefined) parts.push(`HEAD ${refName(head.before)} → ${refName(head.after)}`);
  parts.push(...refs.map(refWords));
  if (staged !== undefined) parts.push(`staged ${staged.before} → ${staged.after}`);
  if (operation !== undefined && operation.before !== "none") parts.push(`${operation.before} ended`);
  if (operation !== undefined && operation.after !== "none") parts.push(`${operation.after} in progress`);
  return parts.join(", ");
}

/** The parts of git that were left, each with the reason: "refs/heads/topic: it has changed since". */
export function gitReasons(git: GitOutcome | undefined): string[] {
  return (git?.reasons ?? []).map(({ part, reason }) => `${part}: ${own(GIT_PART_REASONS, reason) ?? reason}`);
}

/** Whether git is changed, and not only what stays. */
export function movesGit(git: GitOutcome | undefined): boolean {
  return git !== undefined && git.left !== true && gitWords(git.changes) !== "";
}

function refWords(ref: GitRef): string {
  const behind = ref.behind?.replace(/^refs\/remotes\//, "");
  return behind === undefined ? moveWords(ref) : `${moveWords(ref)} (behind ${behind})`;
}

function moveWords({ ref, before, after }: GitRef): string {
  const kind = ref.startsWith("refs/heads/") ? "branch " : ref.startsWith("refs/tags/") ? "tag " : "";
  const name = ref.replace(/^refs\/(heads\/|tags\/)?/, "");
  if (after === undefined) return `${kind}${name} deleted`;
  if (before === undefined) return `${kind}${name} created at ${refName(after)}`;
  return before === after ? `${name} changed` : `${name} ${refName(before)} → ${refName(after)}`;
}

/** Shortens the full name of a branch, or the id of a commit. */
function refName(value: string): string {
  const name = value.replace(/^ref: /, "");
  return name.includes("/") ? name.replace(/^refs\/heads\//, "") : name.slice(0, 7);
}

function filled(list: readonly unknown[] | undefined): boolean {
  return list !== undefined && list.length > 0;
}

function own<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}
"""
_MAP = "Readonly<Record<string, string>>"
_TYPES = {
    "OUTCOMES": "Readonly<Record<OutcomeKind, { readonly done: string; readonly planned: string }>>",
    "OPERATIONS": "Readonly<Record<RevertKind, { readonly past: string; readonly noun: string }>>",
    "STATES": 'Readonly<Record<Step["state"], string>>',
    "AUTHORS": 'Readonly<Record<"user" | "unknown", string>>',
    "AGENTS": "Readonly<Record<string, { readonly title: string; readonly colour: string }>>",
    "SIGNATURES": 'Readonly<Record<"good" | "partial" | "unknown" | "bad" | "unchecked", string>>',
    "WRITTEN_OUTCOMES": "readonly OutcomeKind[]",
    "LEFT_OUTCOMES": "readonly OutcomeKind[]",
    "PALETTE": "readonly AgentColour[]",
}
_LUA = """
--- What every face calls reasons, outcomes, states, operations, errors and agents.

local M = {}

---@class snapd.AgentColour
---@field name string
---@field light string on a light ground
---@field dark string on a dark ground
---@field terminal integer among the 256 colours of terminals

{{tables}}

--- A reason in words; an unknown one stays as it is.
---@param reason string as the wire has it, or the name of an error of the system, such as "EACCES"
---@param branch? string the branch that has the change
---@return string
function M.reason_text(reason, branch)
  if branch then
    return "the change is on branch " .. branch
  end
  return M.REASONS[reason] or M.SYSTEM_ERRORS[reason] or reason
end

--- A heading for a kind of error; an unknown one stays as it is.
---@param kind string
---@return string
function M.error_title(kind)
  return M.ERROR_TITLES[kind] or kind
end

--- What people call an agent.
---@param agent string
---@return string
function M.agent_title(agent)
  return M.AGENTS[agent] and M.AGENTS[agent].title or agent
end

--- The colour of an agent: the same everywhere and every time.
---@param agent string
---@return snapd.AgentColour
function M.agent_colour(agent)
  local name = M.AGENTS[agent] and M.AGENTS[agent].colour
  local number = 0
  for at = 1, #agent do
    number = (number * 31 + agent:byte(at)) % 65521
  end
  for _, colour in ipairs(M.PALETTE) do
    if colour.name == name then
      return colour
    end
  end
  return M.PALETTE[number % #M.PALETTE + 1]
end

--- Whether lists leave a step out: it is over, changed nothing, and is a single call or has no title.
---@param step table
---@return boolean
function M.is_empty(step)
  if step.state == "open" or step.late or step.git then
    return false
  end
  if #(step.files or {}) > 0 or #(step.uncaptured or {}) > 0 then
    return false
  end
  return step.partId ~= nil or not (step.tool or step.description or step.messageId)
end

--- The full name of a branch, or the id of a commit, shortened.
local function ref_name(value)
  local name = value:gsub("^ref: ", "")
  return name:find("/", 1, true) and (name:gsub("^refs/heads/", "")) or name:sub(1, 7)
end

--- A change of git in a line, such as "main 5f3c21a → 9a1b22c, branch topic deleted".
---@param change table GitChange
---@return string
function M.git_words(change)
  local parts = {}
  local function add(format, ...)
    parts[#parts + 1] = format:format(...)
  end
  if change.repository then
    add("repository %s", change.repository)
  end
  if change.head then
    add("HEAD %s → %s", ref_name(change.head.before), ref_name(change.head.after))
  end
  for _, each in ipairs(change.refs) do
    local kind, name = each.ref:match("^refs/(%l+)/(.+)$")
    kind = ({ heads = "branch ", tags = "tag " })[kind]
    name = kind and name or each.ref:gsub("^refs/", "")
    if not each.after then
      add("%s%s deleted", kind or "", name)
    elseif not each.before then
      add("%s%s created at %s", kind or "", name, ref_name(each.after))
    elseif ref_name(each.before) == ref_name(each.after) then
      add("%s changed", name)
    else
      add("%s %s → %s", name, ref_name(each.before), ref_name(each.after))
    end
    if each.behind then
      parts[#parts] = ("%s (behind %s)"):format(parts[#parts], (each.behind:gsub("^refs/remotes/", "")))
    end
  end
  if change.staged then
    add("staged %d → %d", change.staged.before, change.staged.after)
  end
  local before, after = (change.operation or {}).before, (change.operation or {}).after
  if before and before ~= "none" then
    add("%s ended", before)
  end
  if after and after ~= "none" then
    add("%s in progress", after)
  end
  return table.concat(parts, ", ")
end

--- What became of git in lines.
---@param outcome table GitOutcome
---@param how string? what asks for git as well, nil if nothing does any longer
---@param redone? boolean
---@return string[]
function M.git_lines(outcome, how, redone)
  local words = M.git_words(outcome.changes)
  if outcome.left then
    local line = ("git stays %s: %s"):format(redone and "undone" or "as it is", words)
    return { how and ("%s; %s %s, too"):format(line, how, redone and "redoes that" or "takes that back") or line }
  end
  local lines = words ~= "" and { "git: " .. words } or {}
  for _, each in ipairs(outcome.reasons or {}) do
    lines[#lines + 1] = ("left in git: %s: %s"):format(each.part, M.GIT_PART_REASONS[each.reason] or each.reason)
  end
  return lines
end

return M
"""


Agents = dict[str, words.AgentWords]


def agent_words_python(agents: Agents) -> str:
    """Returns the text of `snapd/wire/agent_words.py`."""
    rows = "".join(f'    "{name}": ("{words.title}", "{words.colour}"),\n' for name, words in agents.items())
    return f'''# {BANNER}
"""What people call each agent, and its colour: from the rows of `snapd/agents/table.py`."""

TITLES_AND_COLOURS = {{
{rows}}}
'''


def words_typescript(agents: Agents) -> str:
    """Returns the text of `clients/typescript/src/words.ts`."""
    maps = (*_MAPS, ("AGENTS", agents))
    tables = [f"export const {name}: {_TYPES.get(name, _MAP)} = {{\n{_rows(table)}\n}};" for name, table in maps]
    tables += [
        f"export const {name}: {_TYPES.get(name, 'readonly string[]')} = [{_members(values)}];"
        for name, values in _LISTS
    ]
    return _page("//", _TYPESCRIPT, tables)


def words_lua(agents: Agents) -> str:
    """Returns the text of `clients/neovim/lua/snapd/words.lua`."""
    maps = (*_MAPS, ("AGENTS", agents))
    tables = [f"M.{name} = {{\n{_rows(table, ' =')}\n}}" for name, table in maps]
    tables += [f"M.{name} = {{{_members(values, ' =')}}}" for name, values in _LISTS]
    return _page("--", _LUA, tables)


def _page(comment: str, template: str, tables: list[str]) -> str:
    return f"{comment} {BANNER}\n" + template.lstrip().replace("{{tables}}", "\n\n".join(tables))


def _rows(table: Mapping[str, Any], equals: str = ":") -> str:
    # in Lua, "end" is a word of the language
    names = {key: f'["{key}"]' if key == "end" and equals != ":" else key for key in table}
    return "\n".join(f"  {names[key]}{equals} {_literal(value, equals)}," for key, value in table.items())


def _members(values: tuple[Any, ...], equals: str = ":") -> str:
    texts = [_literal(value, equals) for value in values]
    if all(isinstance(value, str) for value in values):
        return ", ".join(texts) if equals == ":" else f" {', '.join(texts)} "
    return "\n" + "".join(f"  {text},\n" for text in texts)


def _literal(value: Any, equals: str) -> str:
    if hasattr(value, "_asdict"):
        members = ", ".join(f"{key}{equals} {_literal(each, equals)}" for key, each in value._asdict().items())
        return f"{{ {members} }}"
    return json.dumps(value, ensure_ascii=False)
