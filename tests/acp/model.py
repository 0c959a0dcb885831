"""What a conversation says that happened, worked out from all of it at once; the proxy sees line after line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from tests.acp.streams import Line

CANNOT_WRITE = {"read", "search", "think", "fetch", "switch_mode"}


@attrs.frozen
class Part:
    """A call that has a step.

    Attributes:
        prompt: the number of the line with its prompt.
        within: the call that it is a part of; None for the prompt itself.
        begins: the number of the line with which it begins.
        ends: that of the line with which it ends.
        files: what it claims; None for nothing.
    """

    prompt: int
    within: str | None
    begins: int
    ends: int
    files: frozenset[str] | None


def mentions(lines: Sequence[Line]) -> Iterator[tuple[int, dict[str, Any]]]:
    for at, line in enumerate(lines):
        message = line.message
        params = message.get("params", {})
        if line.side != "agent":
            continue
        if message.get("method") == "session/update" and "toolCallId" in params["update"]:
            yield at, params["update"]
        elif message.get("method") == "session/request_permission":
            yield at, params["toolCall"]


def prompts(lines: Sequence[Line]) -> list[tuple[int, int]]:
    """The lines of each prompt and of its answer, one after the other."""
    found = []
    for at, line in enumerate(lines):
        if line.message.get("method") == "session/prompt":
            end = next(
                number
                for number, other in enumerate(lines)
                if number > at and "method" not in other.message and other.message["id"] == line.message["id"]
                and other.side == "agent"
            )  # fmt: skip
            found.append((at, end))
    return found


def parts(lines: Sequence[Line]) -> dict[str, Part]:
    """The calls of a conversation that have steps, by their ids."""
    about: dict[str, list[tuple[int, dict[str, Any]]]] = defaultdict(list)
    for at, call in mentions(lines):
        about[call["toolCallId"]].append((at, call))
    turns = prompts(lines)
    found: dict[str, Part] = {}
    for name, told in about.items():
        kind = next((call["kind"] for _, call in told if call.get("kind")), None)
        children = [
            (at, call)
            for rows in about.values()
            for at, call in rows
            if call.get("_meta", {}).get("claudeCode", {}).get("parentToolUseId") == name
        ]
        if kind in CANNOT_WRITE and not children:
            continue
        begins = children[0][0] if kind in CANNOT_WRITE else told[0][0]
        turn, answered = next((first, last) for first, last in turns if first < begins < last)
        ended = [at for at, call in told if call.get("status") in ("completed", "failed")]
        within = next(
            (p for _, call in told if (p := call.get("_meta", {}).get("claudeCode", {}).get("parentToolUseId"))), None
        )
        paths = [
            {row["path"] for row in [*(call.get("locations") or []), *(call.get("content") or [])] if "path" in row}
            for _, call in told
        ]
        named = next((rows for rows in reversed(paths) if rows), None)
        files = frozenset(named) if kind == "edit" and named else None
        found[name] = Part(turn, within, begins, max([begins, *ended[:1]]) if ended else answered, files)
    return found
