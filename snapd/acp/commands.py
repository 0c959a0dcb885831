"""The slash commands that the proxy answers itself: `/undo`, `/redo` and `/steps`."""

from __future__ import annotations

import logging
import re
from itertools import groupby
from typing import TYPE_CHECKING, Any

import attrs

from snapd.core.errors import InvalidParams, IoError, NothingToRedo, NothingToUndo, UnknownStep

from .messages import Offer
from .telling import NOTHING_RECORDED, done, turn_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from snapd.backend import Backend

    from .turns import Turns

logger = logging.getLogger(__name__)

OFFERS = (
    Offer("undo", "Take back what the last prompt changed in your files (snapd)", "a number of prompts, or a step"),
    Offer("redo", "Do again what /undo took back last (snapd)", "a number of prompts"),
    Offer("steps", "List what the agent changed, step by step (snapd)", "a number of prompts"),
)
_COMMAND = re.compile(r"/(?P<name>undo|redo|steps)(?:[ \t]+(?P<rest>\S+))?", re.ASCII)
_COUNT = re.compile(r"[1-9][0-9]{0,2}", re.ASCII)
_STEP = re.compile(r"[0-9a-f]{4,64}", re.ASCII)
_LOOKED_AT = 100
"""Steps that are asked for at first: a session may have thousands."""
_LISTS = "`/steps` lists what it changed"
_LISTED = 5
"""Prompts that `/steps` lists."""


@attrs.frozen
class Command:
    """A slash command as somebody typed it.

    Attributes:
        name: without the slash.
        rest: the word after it; None for none.
    """

    name: str
    rest: str | None


def command_in(prompt: str) -> Command | None:
    """The command that a prompt is; None where it is a prompt for the agent."""
    found = _COMMAND.fullmatch(prompt.strip())
    return None if found is None else Command(found["name"], found["rest"])


def answer(found: Backend, turns: Turns, command: Command, *, is_busy: bool) -> str:
    """Does what a command says, and tells it, as Markdown.

    Args:
        found: the daemon.
        turns: the session in which it was typed.
        command: what was typed.
        is_busy: whether the agent was at work then.

    Raises:
        SnapdError: it was not done, or not as a whole.
    """
    if command.name == "steps":
        return _steps(found, turns, command)
    if is_busy:
        return f"The agent is still at work. Stop it, or wait until it is done; then type `/{command.name}` again."
    if command.name == "redo":
        return _redo(found, turns, _count(command) or 1)
    count = _count(command)
    if command.rest is None or count is not None:
        return _undo_turns(found, turns, count or 1)
    step = _step(found, turns, command.rest)
    result = found.request("session/undo", {"sessionId": turns.name, "stepId": step["stepId"], "details": "counts"})
    return done(result, f"step `{step['stepId'][:8]}`", turns.recording.folder)


def _undo_turns(found: Backend, turns: Turns, count: int) -> str:
    told: list[str] = []
    for _ in range(count):
        try:
            plan = found.request("session/undo", {"sessionId": turns.name, "count": 1, "dryRun": True})
        except NothingToUndo as error:
            if not told:
                said = "nothing that the agent changed in this session is left to take back"
                raise NothingToUndo(said, hint=_LISTS) from error
            break
        last = plan["steps"][0]
        message = last.get("messageId")
        which = {"stepId": last["stepId"]} if message is None else {"messageId": message}
        result = found.request("session/undo", {"sessionId": turns.name, **which, "details": "counts"})
        told.append(done(result, _turn_name(found, turns, message, last), turns.recording.folder))
        if not result["applied"] or any(row["outcome"] == "conflict" for row in result["files"]):
            # what came before it is likely to be in the way of the same changes
            break
    return "\n\n".join(told)


def _redo(found: Backend, turns: Turns, count: int) -> str:
    params: dict[str, Any] = {"sessionId": turns.name}
    told: list[str] = []
    for _ in range(count):
        try:
            plan = found.request("session/redo", {**params, "count": 1000, "dryRun": True})
        except NothingToRedo:
            if not told:
                raise
            break
        _, steps = next(groupby(plan["steps"], lambda step: step.get("messageId") or step["stepId"]))
        number = len(list(steps))
        result = found.request("session/redo", {**params, "count": number, "details": "counts"})
        name = _turn_name(found, turns, plan["steps"][0].get("messageId"), plan["steps"][0])
        told.append(done(result, name, turns.recording.folder, redone=True))
    return "\n\n".join(told)


def _steps(found: Backend, turns: Turns, command: Command) -> str:
    most = _count(command) or _LISTED
    lines: list[str] = []
    shown = 0
    for message, group in groupby(_latest(found, turns), lambda step: step.get("messageId") or step["stepId"]):
        steps = [step for step in group if step.get("files") or step["state"] == "open"]
        if not steps:
            continue
        if shown == most:
            lines.append(f"\nThere are earlier ones: `/steps {most * 2}` lists more.")
            break
        shown += 1
        lines += turn_lines(steps[::-1], _prompt(found, turns, message))
    return "\n".join(lines) or NOTHING_RECORDED


def _latest(found: Backend, turns: Turns) -> Iterator[dict[str, Any]]:
    """The steps of the session, the latest first."""
    params = {"prefix": "", "sessionId": turns.name}
    first = found.request("step/find", {**params, "limit": _LOOKED_AT})["steps"]
    yield from first
    if len(first) == _LOOKED_AT:
        yield from found.request("step/find", params)["steps"][_LOOKED_AT:]


def _step(found: Backend, turns: Turns, told: str) -> dict[str, Any]:
    """The step that somebody named by the beginning of its name; raises `UnknownStep`, `InvalidParams`."""
    steps = []
    if _STEP.fullmatch(told):
        steps = found.request("step/find", {"prefix": told, "sessionId": turns.name, "limit": 2})["steps"]
    if not steps:
        raise UnknownStep(f"there is no step {told!r} in this session", hint=_LISTS, stepId=told)
    if len(steps) > 1:
        raise InvalidParams(f"several steps begin with {told!r}", hint="give more of its name", field="stepId")
    step: dict[str, Any] = steps[0]
    return step


def _count(command: Command) -> int | None:
    return int(command.rest) if command.rest is not None and _COUNT.fullmatch(command.rest) else None


def _turn_name(found: Backend, turns: Turns, message: str | None, step: dict[str, Any]) -> str:
    if message is None:
        return f"step `{step['stepId'][:8]}`"
    prompt = _prompt(found, turns, message)
    return "a prompt" if prompt is None else f"the prompt “{prompt}”"


def _prompt(found: Backend, turns: Turns, message: str) -> str | None:
    """The beginning of a prompt, which may be one of an earlier connection; None where no text is kept."""
    if turns.prompt_of(message) is None:
        try:
            page = found.request("session/messages", {"sessionId": turns.name})
        except IoError as error:
            # a daemon that is older than messages
            logger.info("the daemon keeps no messages: %s", error)
            return None
        for row in page["messages"]:
            turns.remember(row["messageId"], row.get("text", ""))
    return turns.prompt_of(message)
