"""Finds the snapshot that a word of the command line stands for.

A word is `last`, a time, a step (the snapshot before it, or with a `+` the one after it), or a hash or its beginning.
Steps come first: a word that may be either is the step, and a longer beginning of the hash is the snapshot.
"""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Any, NamedTuple

from snapd.cli.terminal.naming import short
from snapd.cli.terminal.output import print_once
from snapd.cli.terminal.times import clock, local_now, moment
from snapd.core.errors import InvalidParams, UnknownSnapshot, UnknownStep

from .connection import TAKE_ONE, ask
from .when import TIMES, is_time, last_second

if TYPE_CHECKING:
    from snapd.backend import Backend
    from snapd.core.errors import SnapdError

_HEXADECIMAL = frozenset("0123456789abcdef")
_HASH = 40
_STEP = 32
"""The most digits of the name of a step."""
_LEAST = 6
"""Digits of a hash that are enough to look for it."""
_NAMED = 5
"""How many candidates an error lists."""
_LISTS = "'snapd snapshots' lists the snapshots, 'snapd log' the steps"


class Found(NamedTuple):
    """The snapshot that a word stands for.

    Attributes:
        hash: the snapshot.
        step: the step that the word named, if it did, without a `+`.
    """

    hash: str
    step: dict[str, Any] | None = None


def find_snapshot(found: Backend, word: str) -> str:
    """The hash of the snapshot that a word stands for.

    Raises:
        UnknownSnapshot, UnknownStep: there is none.
        InvalidParams: several match, or no snapshot can be called that.
    """
    return _find(found, word).hash


def find_sides(found: Backend, word: str, other: str | None) -> tuple[str, str | None]:
    """The snapshots that a comparison is of, the second None for the files as they are.

    A step alone stands for what it changed: it is compared as it began and as it ended.

    Args:
        found: who answers.
        word: the first word.
        other: the second word; None if there is none.

    Raises:
        UnknownSnapshot, UnknownStep, InvalidParams: as `find_snapshot`.
    """
    first = _find(found, word)
    if other is not None:
        return first.hash, _find(found, other).hash
    return first.hash, None if first.step is None else first.step.get("to")


def split_file(text: str) -> tuple[str, str] | None:
    """The file and the snapshot in FILE@SNAPSHOT, where a time has an `@` of its own; None without an `@`."""
    file, at, word = text.rpartition("@")
    if not at:
        return None
    if file.endswith("@") and (is_time(f"@{word}") or not _is_name(word)):
        return file[:-1], f"@{word}"
    return file, word


def _is_name(word: str) -> bool:
    """Whether a word can be `last`, a step or a hash; the beginning of one counts, too."""
    return "last".startswith(word) or set(word.removesuffix("+")) <= _HEXADECIMAL


def _find(found: Backend, word: str) -> Found:
    if word == "last":
        return Found(_last(found))
    if word.startswith("@"):
        return Found(_at(found, word))
    name, is_after = word.removesuffix("+"), word.endswith("+")
    if not (name and set(name) <= _HEXADECIMAL and len(name) <= (_STEP if is_after else _HASH)):
        raise _not_a_name(word)
    if len(name) == _HASH:
        return Found(name)
    steps = _steps(found, name)
    is_whole = any(step["stepId"] == name for step in steps)
    hashes = [] if is_after or is_whole else _hashes(found, name)
    if len(steps) == 1:
        return _of_step(steps[0], word, hashes, is_after=is_after)
    if len(steps) + len(hashes) > 1:
        raise _several(word, steps, hashes)
    if hashes:
        return Found(str(hashes[0]["hash"]))
    raise _nothing(word, name, is_after=is_after)


def _last(found: Backend) -> str:
    last = ask(found, "snapshot/status", {}).get("lastHash")
    if last is None:
        raise InvalidParams("there is no snapshot of this folder yet", hint=TAKE_ONE, field="SNAPSHOT")
    return str(last)


def _at(found: Backend, word: str) -> str:
    now = local_now()
    until = last_second(word, now)
    before = until.astimezone(UTC).isoformat(timespec="seconds")
    taken = ask(found, "snapshot/list", {"before": before, "limit": 1, "counts": False})["snapshots"]
    if not taken:
        raise UnknownSnapshot(
            f"there is no snapshot from {clock(until, now)} or before", hint="'snapd snapshots -n 0' lists all of them"
        )
    # a time is not exact: say what it was taken for
    print_once(f"snapd: {word} is the snapshot {short(taken[0]['hash'])} from {clock(moment(taken[0]['at']), now)}")
    return str(taken[0]["hash"])


def _steps(found: Backend, name: str) -> list[dict[str, Any]]:
    """Steps whose names begin with some digits, one more than an error lists; one alone that has the whole name."""
    if len(name) > _STEP:
        return []
    return list(ask(found, "step/find", {"prefix": name, "limit": _NAMED + 1})["steps"])


def _hashes(found: Backend, name: str) -> list[dict[str, Any]]:
    """Snapshots whose hashes begin with some digits, one more than an error lists."""
    if len(name) < _LEAST:
        return []
    params = {"prefix": name, "limit": _NAMED + 1, "counts": False}
    return list(ask(found, "snapshot/list", params)["snapshots"])


def _of_step(step: dict[str, Any], word: str, hashes: list[dict[str, Any]], *, is_after: bool) -> Found:
    name = step["stepId"]
    if is_after:
        if "to" not in step:
            raise InvalidParams(
                f"step {name} is still open: there is no snapshot after it",
                hint=f"'snapd step end {name}' ends it; '{word[:-1]}' is the snapshot before it",
                field="SNAPSHOT",
            )
        return Found(str(step["to"]))
    if hashes:
        print_once(
            f"snapd: {word} is the step {name}; a longer beginning of {hashes[0]['hash']} is the snapshot of that hash"
        )
    return Found(str(step["from"]), step)


# -- errors


def _not_a_name(word: str) -> InvalidParams:
    if word == "last+":
        return InvalidParams(
            "'last' is the last snapshot, and nothing comes after it",
            hint="STEP+ is the snapshot after a step; 'snapd log' shows the steps",
            field="SNAPSHOT",
        )
    return InvalidParams(
        f"expected a snapshot, got {word!r}",
        hint=f"a snapshot is a hash or its beginning, 'last', STEP (before it), STEP+ (after it), {TIMES}; {_LISTS}",
        field="SNAPSHOT",
    )


def _several(word: str, steps: list[dict[str, Any]], hashes: list[dict[str, Any]]) -> InvalidParams:
    now = local_now()
    named = [("step", step["stepId"], step["startedAt"]) for step in steps]
    named += [("snapshot", taken["hash"], taken["at"]) for taken in hashes]
    shown = [f"{kind} {short(name)} from {clock(moment(at), now)}" for kind, name, at in named[:_NAMED]]
    return InvalidParams(
        f"{word!r} is the beginning of several: {', '.join(shown)}{', ...' if len(named) > _NAMED else ''}",
        hint="give more digits",
        field="SNAPSHOT",
    )


def _nothing(word: str, name: str, *, is_after: bool) -> SnapdError:
    if is_after:
        return UnknownStep(f"no step {name!r} in this folder", hint="'snapd log' shows the steps", stepId=name)
    if len(name) < _LEAST:
        return InvalidParams(
            f"no step {word!r} in this folder, and a hash needs {_LEAST} digits or more", hint=_LISTS, field="SNAPSHOT"
        )
    kind = "step or snapshot" if len(name) <= _STEP else "snapshot"
    return UnknownSnapshot(f"no {kind} of this folder begins with {word!r}", hint=_LISTS, hash=word)
