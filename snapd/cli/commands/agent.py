"""`snapd agent`: installs hooks into agents, removes them, and reports whether they work."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from snapd.cli.exit_codes import DONE, FAILED, NOT_ALL
from snapd.cli.parsing.command import Answer, Command, common, family
from snapd.cli.requests.connection import folder_of
from snapd.cli.terminal.errors import as_json, readable
from snapd.cli.terminal.layout import shell_name
from snapd.cli.terminal.output import Painter, print_json, printable
from snapd.cli.terminal.times import ago, local_now
from snapd.hook.log import last
from snapd.locations import Locations
from snapd.model.errors import InvalidParams

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable
    from typing import Annotated

    from snapd.agents.install import FileResult
    from snapd.agents.status import State
    from snapd.agents.table import Agent
    from snapd.cli.parsing.command import Error
    from snapd.cli.parsing.usage import Parser

_RESULTS = {
    "created": ("created", "would create"),
    "changed": ("changed", "would change"),
    "removed": ("removed", "would remove"),
    "nothing": ("nothing to do", "nothing to do"),
    "failed": ("not changed", "would not change"),
}


class SettingsFile(Answer):
    """What `agent install` or `agent uninstall` did with one file, or would do."""

    agent: Annotated[str, "The agent whose file it is."]
    file: Annotated[str, "Its path."]
    did: Annotated[
        str,
        "`created` or `removed`: the file itself; `changed`: hooks in it; `nothing`; `failed`: it is as it was, and "
        "`error` says why.",
    ]
    diff: Annotated[str | None, "With `--dry-run`, the change as a unified diff."] = None
    error: Annotated[Error | None, "What is wrong."] = None


class SettingsFiles(Answer):
    """What `agent install` or `agent uninstall` did."""

    files: Annotated[list[SettingsFile], "The files of all agents that were named."]


class AgentState(Answer):
    """The state of an agent and its hooks."""

    name: Annotated[str, "What snapd calls it."]
    title: Annotated[str, "What its makers call it."]
    found: Annotated[bool, "Whether it is on this machine."]
    installed: Annotated[bool, "Whether it has hooks of snapd's."]
    working: Annotated[bool, "Whether it has hooks, nothing is wrong with them that snapd can see, and they run."]
    settings: Annotated[str, "The file with the hooks, or the one that an install would write."]
    scopes: Annotated[list[str], "Where it has hooks: `user`, `project`, `plugin`."]
    problem: Annotated[str | None, "What is wrong."] = None
    hint: Annotated[str | None, "What to do about it."] = None
    tested: Annotated[str | None, "The version with which its hooks were run for real; absent if never."] = None
    last_event_at: Annotated[str | None, "When it last reported an event, as RFC 3339; absent if it never did."] = None


class AgentStates(Answer):
    """The state of agents and their hooks."""

    agents: Annotated[list[AgentState], "All agents that snapd supports."]


family("agent", "connect agents", "connect agents to snapd by their own hooks, and see whether that works")


def _install_arguments(parser: Parser, everything: str = "all agents that are on this machine") -> None:
    common(parser, asks=False)
    parser.flag("--all", help=everything)
    parser.argument("names", "NAME", "such as claude or codex; 'snapd agent status' lists them", nargs="*")
    parser.flag("--project", help="the settings of this project, not those of the user")
    parser.flag("-n", "--dry-run", help="only show the diff of what would be done")


@Command("agent install", "connect agents", _install_arguments, answer="SettingsFiles", example="agent install codex")
def install(options: argparse.Namespace) -> int:
    """Write snapd's hooks into the settings of agents.

    Write the hooks, so that snapd records each step of these agents. All other settings stay as they are.
    """
    return _install_or_uninstall(options)


def _uninstall_arguments(parser: Parser) -> None:
    _install_arguments(parser, "all agents that snapd supports")


@Command(
    "agent uninstall", "connect agents", _uninstall_arguments, answer="SettingsFiles", example="agent uninstall codex"
)
def uninstall(options: argparse.Namespace) -> int:
    """Take snapd's hooks out of the settings of agents."""
    return _install_or_uninstall(options)


def _install_or_uninstall(options: argparse.Namespace) -> int:
    from snapd.agents import install as hooks
    from snapd.agents.settings_file import Records
    from snapd.agents.styles import program

    agents = _chosen(options)
    environment = os.environ
    # before an install creates the folders by which an agent is recognised
    missing = [each for each in agents if not each.is_present(environment)]
    root = os.path.realpath(folder_of(options)) if options.project else None
    records = Records(Locations.from_environment(environment))
    if options.action == "install":
        done = hooks.install(agents, program(), records, environment, root, dry_run=options.dry_run)
    else:
        done = hooks.uninstall(agents, records, environment, root, dry_run=options.dry_run)
    return _print_result(options, agents, missing, list(done))


def _chosen(options: argparse.Namespace) -> list[Agent]:
    from snapd.agents.table import AGENTS, named

    if options.all == bool(options.names):
        raise InvalidParams(
            "expected names of agents, or --all",
            hint=f"the agents are {', '.join(AGENTS)}; --all takes those that are on this machine",
            field="NAME",
        )
    if options.names:
        return named(options.names)
    # a removed agent may have left its settings
    return [each for each in AGENTS.values() if options.action == "uninstall" or each.is_present(os.environ)]


def _print_result(
    options: argparse.Namespace, agents: list[Agent], missing: list[Agent], done: list[FileResult]
) -> int:
    failed = [each for each in done if each.error is not None]
    if options.json:
        print_json({"files": [_as_json(each, dry_run=options.dry_run) for each in done]})
    else:
        _print(options, done)
        if not agents:
            print("no agent of those that snapd knows is on this machine")
        if options.action == "install" and not options.dry_run:
            _print_hints(agents, missing, done)
    if not failed:
        return DONE
    return FAILED if len(failed) == len(done) else NOT_ALL


def _print(options: argparse.Namespace, done: list[FileResult]) -> None:
    painter = Painter(options)
    quiet = options.action == "uninstall" and options.all
    width = max((len(each.agent.name) for each in done), default=0)
    if quiet:
        done = [each for each in done if each.did != "nothing"]
        if not done:
            print("no agent has hooks of snapd's")
    for each in done:
        text = _RESULTS[each.did][options.dry_run]
        line = f"{each.agent.name.ljust(width)}  {shell_name(each.file)}: {text}"
        if each.error is not None:
            words = readable(each.error)
            print(f"{painter.paint(line, 'red')}: {printable(words.message)}\nhint: {printable(words.hint)}")
        else:
            print(line)
        if options.dry_run and each.diff:
            print(painter.diff(each.diff), end="")


def _print_hints(agents: list[Agent], missing: list[Agent], done: list[FileResult]) -> None:
    fine = {each.agent.name for each in done if each.error is None}
    for each in agents:
        if each.name in fine and each in missing:
            print(f"{each.title} is not on this machine; its hooks wait for it")
        if each.still and any(one.agent is each and one.did in ("created", "changed") for one in done):
            print(each.still)
    if any(one.did in ("created", "changed") for one in done):
        print("next: have an agent change something; 'snapd log' shows its steps, and 'snapd undo' takes back the last")


def _as_json(done: FileResult, *, dry_run: bool) -> dict[str, Any]:
    fields = {"agent": done.agent.name, "file": done.file, "did": done.did}
    if done.error is not None:
        return {**fields, **as_json(readable(done.error))}
    return {**fields, "diff": done.diff} if dry_run else fields


@Command(
    "agent status",
    "connect agents",
    lambda parser: common(parser, asks=False),
    answer="AgentStates",
    example="agent status",
    plays=False,
)
def status(options: argparse.Namespace) -> int:
    """Show which agents are connected, and what keeps their hooks from working."""
    from snapd.agents.status import HookInspector
    from snapd.agents.styles import program
    from snapd.agents.table import AGENTS

    looking = HookInspector(program(), os.environ, os.path.realpath(folder_of(options)))
    states = [looking.at(each) for each in AGENTS.values()]
    if options.json:
        print_json({"agents": [_state_as_json(state) for state in states]})
    else:
        _print_states(options, states)
    return DONE if all(state.working for state in states if state.scopes) else FAILED


def _state_as_json(state: State) -> dict[str, Any]:
    fields = {
        "name": state.agent.name,
        "title": state.agent.title,
        "found": state.found,
        "installed": bool(state.scopes),
        "working": state.working,
        "settings": state.settings,
        "scopes": state.scopes,
    }
    at = _last_event(state)
    more = {
        "problem": state.problem,
        "hint": state.hint,
        "tested": state.agent.tested or None,
        "lastEventAt": None if at is None else at.astimezone(UTC).isoformat(timespec="seconds"),
    }
    return {**fields, **{name: value for name, value in more.items() if value is not None}}


def _last_event(state: State) -> datetime | None:
    seconds = last(os.environ, state.agent.name)
    return None if seconds is None else datetime.fromtimestamp(seconds).astimezone()


def _print_states(options: argparse.Namespace, states: Iterable[State]) -> None:
    painter = Painter(options)
    missing = []
    for state in states:
        if not state.found and not state.scopes and state.problem is None:
            missing.append(state.agent.name)
            continue
        mark = painter.paint("ok ", "green") if state.working else painter.paint("bad", "red")
        if not state.scopes and state.problem is None:
            mark = painter.paint("no ", "dim")
        name = state.agent.name.ljust(9)
        where = f"{shell_name(state.settings)} ({', '.join(state.scopes)})" if state.scopes else "not installed"
        at = _last_event(state) if state.scopes else None
        when = "" if at is None else f", last event {ago(at, local_now())}"
        print(f"{mark} {name} {printable(state.problem or where)}{when}")
        if state.hint:
            print(f"hint: {printable(state.hint)}")
        elif not state.scopes:
            print(f"hint: 'snapd agent install {state.agent.name}' installs its hooks")
        elif state.working and not state.agent.tested:
            print(f"    {painter.paint('built from its documents; not tried with the real program', 'dim')}")
    if missing:
        print(painter.paint(f"not on this machine: {', '.join(missing)}", "dim"))
