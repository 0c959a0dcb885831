"""`snapd stage`: what steps changed, and nothing else, into the git index of the project."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from snapd.cli.commands.staged import Answer, conflict, tell
from snapd.cli.exit_codes import DONE, NOT_ALL
from snapd.cli.requests.connection import ask, backend, pages
from snapd.cli.requests.folder import folder_of
from snapd.cli.requests.names import all_sessions, find_session_or_step
from snapd.cli.terminal.filenames import shell_name
from snapd.cli.terminal.naming import said_of, short
from snapd.cli.terminal.output import print_json
from snapd.core.errors import InvalidParams
from snapd.core.trees import is_among
from snapd.staging.contents import Contents
from snapd.staging.git import Git
from snapd.staging.loading import Loader
from snapd.staging.message import proposed
from snapd.staging.planning import Planner
from snapd.staging.repository import Repository

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence

    from snapd.backend import Backend
    from snapd.staging.changes import Owner

_DESCRIBED = 20
"""How many steps without a prompt the message may tell of."""


def stage(options: argparse.Namespace) -> int:
    """Puts the changes into the index, all or nothing."""
    with backend(options) as found:
        sessions, steps = _named(found, options.names)
        folder = os.path.realpath(os.fsencode(folder_of(options)))
        repository = Repository.around(folder, Git.of_user(os.environ))
        repository.check_idle()
        contents = Contents()
        loader = Loader(lambda method, params: ask(found, method, params), folder, repository.top, contents)
        rows = loader.rows(sessions, steps)
        planner = Planner(repository, contents)
        plan = planner.plan(loader.chains(_chosen(options, loader, rows)))
        if plan.conflicts:
            raise conflict(options, plan, folder, repository.top)
        owners = list(dict.fromkeys(owner for change in plan.pending for owner in change.owners))
        still_open = _open_steps(found, sessions)
        message = proposed(list(_prompts(found, owners)), _otherwise(found, sessions, owners))
    if not options.dry_run:
        planner.carry_out(plan)
    answer = Answer(
        plan=plan,
        contents=contents,
        folder=folder,
        top=repository.top,
        message=message,
        open_steps=still_open,
        applied=not options.dry_run,
        how_back="git restore --staged" if repository.has_commit else "git rm --cached",
    )
    if options.json:
        print_json(answer.as_json())
    elif options.message:
        print(message)
        tell(options, answer, sys.stderr)
    else:
        tell(options, answer, sys.stdout)
    return NOT_ALL if plan.left else DONE


def _named(found: Backend, words: Iterable[str]) -> tuple[list[str], list[str]]:
    """The sessions and the ended steps that some words stand for; raises `InvalidParams`, `UnknownSession`."""
    sessions: dict[str, None] = {}
    steps: dict[str, None] = {}
    for word in words:
        named = find_session_or_step(found, word)
        if "stepId" not in named:
            sessions[named["sessionId"]] = None
        elif named["state"] == "open":
            raise InvalidParams(
                f"step {named['stepId']} is still open: what it changes is not known yet",
                hint=f"'snapd step end {short(named['stepId'])}' ends it",
                field="STEP",
            )
        else:
            steps[named["stepId"]] = None
    return list(sessions), list(steps)


def _open_steps(found: Backend, session_ids: Iterable[str]) -> list[str]:
    """The steps of sessions that are still open, so that what they change is not staged."""
    asked = ({"sessionId": session_id, "open": True} for session_id in session_ids)
    return [step["stepId"] for params in asked for step in ask(found, "step/find", params)["steps"]]


def _chosen(
    options: argparse.Namespace, loader: Loader, rows: dict[bytes, dict[str, Any]]
) -> dict[bytes, dict[str, Any]]:
    """The files that the command is about; a file that was moved goes by any of its names."""
    if not options.files:
        return rows
    chosen: set[bytes] = set()
    for name in options.files:
        full = os.path.abspath(os.path.join(options.directory, name))
        # the folder may have been reached by a symlink; what is named may be one
        path = loader.below_top(os.path.join(os.path.realpath(os.path.dirname(full)), os.path.basename(full)))
        below = {each for each in rows if is_among(each, (path,))}
        if not below:
            raise InvalidParams(
                f"{shell_name(name)}: these steps changed nothing there that is not undone",
                hint="'snapd stage --dry-run' without --file shows what they changed",
                field="--file",
            )
        chosen |= below
    moves = [
        {path, loader.path(change["renamedFrom"])}
        for path, row in rows.items()
        for change in row["changes"]
        if "renamedFrom" in change
    ]
    while more := {name for move in moves if chosen & move for name in move} - chosen:
        chosen |= more
    return {path: row for path, row in rows.items() if path in chosen}


# -- the message


def _prompts(found: Backend, owners: Sequence[Owner]) -> Iterator[str]:
    """What people asked for in the turns of some steps, the oldest first; else what agents say of the steps."""
    messages: list[tuple[str, str]] = []
    for session_id in dict.fromkeys(owner.session_id for owner in owners):
        wanted = {owner.message_id for owner in owners if owner.session_id == session_id} - {None}
        sent = pages(found, "session/messages", {"sessionId": session_id}, "messages") if wanted else ()
        messages += [(each["at"], each["text"]) for each in sent if each["messageId"] in wanted and each.get("text")]
    yield from (text for _, text in sorted(messages, key=lambda each: each[0]))
    if messages:
        return
    for owner in owners[:_DESCRIBED]:
        for step in ask(found, "step/find", {"prefix": owner.step_id, "limit": 1})["steps"]:
            if "description" in step:
                yield said_of({"description": step["description"]})


def _otherwise(found: Backend, session_ids: Iterable[str], owners: Iterable[Owner]) -> str:
    """What to call the work of sessions of which nothing else is known."""
    known = {session["sessionId"]: session for session in all_sessions(found)}
    names = dict.fromkeys((*session_ids, *(owner.session_id for owner in owners)))
    sessions = [known[name] for name in names if name in known]
    for session in sessions:
        if session.get("title"):
            return str(session["title"])
    agents = list(dict.fromkeys(session["agent"] for session in sessions if session.get("agent")))
    return f"Changes by {' and '.join(agents)}" if agents else "Changes by an agent"
