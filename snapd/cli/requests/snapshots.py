"""Finds the snapshot that a word of the command line stands for.

A word is `last`, a time, a step (the snapshot before it, or with a `+` the one after it), or a hash or its beginning.
Steps come first: a word that may be either is the step, and a longer beginning of the hash is the snapshot.
"""

from __future__ import annotations

import os
import re
from collections import deque
from contextlib import contextmanager
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, NamedTuple

from snapd.cli.terminal.naming import short
from snapd.cli.terminal.output import print_once
from snapd.cli.terminal.times import clock, local_now, moment
from snapd.model.errors import FileNotInSnapshot, InvalidParams, UnknownSnapshot, UnknownStep, did_you_mean

from .connection import TAKE_ONE, ask, pages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from snapd_client.protocol import Step, TakenSnapshot

    from snapd.backend import Backend
    from snapd.model.errors import SnapdError

_HEXADECIMAL = frozenset("0123456789abcdef")
_HASH = 40
_STEP = 32
"""The maximum number of digits of a step's id."""
_LEAST = 6
"""The minimum number of digits to look up a hash."""
_NAMED = 5
"""How many candidates an error lists."""
_LISTS = "'snapd snapshots' lists the snapshots, 'snapd log' the steps"
TIMES = "@2h, @90m or @3d (ago), @14:30, @2026-11-20 or @2026-11-20T14:30"
_AGO = re.compile(r"(?:[0-9]+[smhdw])+")
_PART = re.compile(r"([0-9]+)([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_CLOCK = re.compile(
    r"(?:(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ](?=[0-9])|$))?(?P<clock>[0-9]{1,2}:[0-9]{2}(?P<second>:[0-9]{2})?)?"
)


class SnapshotMatch(NamedTuple):
    """The snapshot that a word stands for, and the step that the word named, if it did, without a `+`."""

    hash: str
    step: Step | None = None


def find_snapshot(backend: Backend, word: str, *, or_oldest: bool = True) -> str:
    """Returns the hash of the snapshot of a word; with `or_oldest`, the first one for a time before it."""
    return _find(backend, word, or_oldest=or_oldest).hash


def find_sides(backend: Backend, word: str, other: str | None) -> tuple[str, str | None]:
    """Returns the snapshots to compare (None for the current files); a step alone stands for its first and last one."""
    first = _find(backend, word)
    if other is not None:
        return first.hash, _find(backend, other).hash
    return first.hash, None if first.step is None else first.step.get("to")


def split_file(text: str) -> tuple[str, str] | None:
    """Returns the file and the snapshot in FILE@SNAPSHOT, where a time has an `@` of its own; None without an `@`."""
    file, at, word = text.rpartition("@")
    if not at:
        return None
    if file.endswith("@") and (is_time(f"@{word}") or not _is_name(word)):
        return file[:-1], f"@{word}"
    return file, word


def _is_name(word: str) -> bool:
    """Whether a word can be `last`, a step or a hash, or the beginning of one."""
    return "last".startswith(word) or set(word.removesuffix("+")) <= _HEXADECIMAL


def _find(backend: Backend, word: str, *, or_oldest: bool = True) -> SnapshotMatch:
    if word == "last":
        return SnapshotMatch(_last(backend))
    if word.startswith("@"):
        return SnapshotMatch(_at(backend, word, or_oldest=or_oldest))
    name, is_after = word.removesuffix("+"), word.endswith("+")
    if not (name and set(name) <= _HEXADECIMAL and len(name) <= (_STEP if is_after else _HASH)):
        raise _not_a_name(word)
    if len(name) == _HASH:
        return SnapshotMatch(name)
    steps = _steps(backend, name)
    is_whole = any(step["stepId"] == name for step in steps)
    hashes = [] if is_after or is_whole else _hashes(backend, name)
    if len(steps) == 1:
        return _of_step(steps[0], word, hashes, is_after=is_after)
    if len(steps) + len(hashes) > 1:
        raise _several(word, steps, hashes)
    if hashes:
        return SnapshotMatch(hashes[0]["hash"])
    raise _nothing(word, name, is_after=is_after)


def _last(backend: Backend) -> str:
    last = ask(backend, "snapshot/status", {}).get("lastHash")
    if last is None:
        raise InvalidParams("there is no snapshot of this folder yet", hint=TAKE_ONE, field="SNAPSHOT")
    return str(last)


def _at(backend: Backend, word: str, *, or_oldest: bool) -> str:
    now = local_now()
    until = last_second(word, now)
    before = until.astimezone(UTC).isoformat(timespec="seconds")
    taken = ask(backend, "snapshot/list", {"before": before, "limit": 1, "counts": False})["snapshots"]
    if taken:
        # a time is not exact: show which snapshot was chosen
        print_once(f"snapd: {word} is {_described(taken[0], now)}")
        return taken[0]["hash"]
    oldest = deque(pages(backend, "snapshot/list", {"counts": False}, "snapshots"), maxlen=1)
    nothing = f"there is no snapshot from {clock(until, now)} or before"
    if not oldest or not or_oldest:
        hint = f"the oldest is {_described(oldest[0], now)}" if oldest else TAKE_ONE
        raise UnknownSnapshot(nothing, hint=hint)
    print_once(f"snapd: {nothing}; using the oldest, {_described(oldest[0], now)}")
    return str(oldest[0]["hash"])


def _described(taken: TakenSnapshot, now: datetime) -> str:
    return f"the snapshot {short(taken['hash'])} from {clock(moment(taken['at']), now)}"


def _steps(backend: Backend, name: str) -> list[Step]:
    """Returns steps whose ids begin with `name`, one more than an error lists; but only one if that is its whole id."""
    if len(name) > _STEP:
        return []
    return ask(backend, "step/find", {"prefix": name, "limit": _NAMED + 1})["steps"]


def _hashes(backend: Backend, name: str) -> list[TakenSnapshot]:
    """Returns snapshots whose hashes begin with some digits, one more than an error lists."""
    if len(name) < _LEAST:
        return []
    return ask(backend, "snapshot/list", {"prefix": name, "limit": _NAMED + 1, "counts": False})["snapshots"]


def _of_step(step: Step, word: str, hashes: list[TakenSnapshot], *, is_after: bool) -> SnapshotMatch:
    name = step["stepId"]
    if is_after:
        if "to" not in step:
            raise InvalidParams(
                f"step {name} is still open: there is no snapshot after it",
                hint=f"'snapd step end {name}' ends it; '{word[:-1]}' is the snapshot before it",
                field="SNAPSHOT",
            )
        return SnapshotMatch(str(step["to"]))
    if hashes:
        print_once(
            f"snapd: {word} is the step {name}; a longer beginning of {hashes[0]['hash']} is the snapshot of that hash"
        )
    return SnapshotMatch(str(step["from"]), step)


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


def _several(word: str, steps: list[Step], hashes: list[TakenSnapshot]) -> InvalidParams:
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


def is_time(word: str) -> bool:
    """Whether a word has the form of a time; it may still be invalid, such as `@25:00`."""
    return word[:1] == "@" and len(word) > 1 and bool(_AGO.fullmatch(word[1:]) or _CLOCK.fullmatch(word[1:]))


def last_second(word: str, now: datetime) -> datetime:
    """Returns the last second that a word names: `@14:30` is that whole minute, `@2026-11-20` that whole day.

    A clock time without a day is the most recent one. `now` is in the user's time zone.
    """
    result = _time_range(word[1:], now) if is_time(word) else None
    if result is None:
        raise InvalidParams(f"expected a time after the @, got {word!r}", hint=f"times are {TIMES}", field="SNAPSHOT")
    return result[1]


def first_second(text: str, now: datetime, option: str) -> datetime:
    """Returns the first second that the value of an option names, which may be without the `@`."""
    word = f"@{text.removeprefix('@')}"
    result = _time_range(word[1:], now) if is_time(word) else None
    if result is None:
        times = TIMES.replace("@", "")
        raise InvalidParams(f"{option}: expected a time, got {text!r}", hint=f"times are {times}", field=option)
    return result[0]


def _time_range(text: str, now: datetime) -> tuple[datetime, datetime] | None:
    """Returns the first and the last second that a text names; None if there is no such day or hour."""
    try:
        if _AGO.fullmatch(text):
            ago = _ago(text, now)
            return ago, ago
        return _at_clock(text, now)
    except (ValueError, OverflowError, OSError):
        # or outside of the range of this machine's clock
        return None


def _ago(text: str, now: datetime) -> datetime:
    amounts: dict[str, int] = {}
    for number, unit in _PART.findall(text):
        amounts[_UNITS[unit]] = amounts.get(_UNITS[unit], 0) + int(number)
    return now - timedelta(**amounts)


def _at_clock(text: str, now: datetime) -> tuple[datetime, datetime]:
    match = _CLOCK.fullmatch(text)
    assert match is not None
    if match["clock"] is None:
        day = datetime.fromisoformat(match["day"])
        return day.astimezone(), datetime.combine(day, time(23, 59, 59)).astimezone()
    clock = time.fromisoformat(match["clock"].zfill(8 if match["second"] else 5))
    day = datetime.fromisoformat(match["day"]) if match["day"] else now
    begins = datetime.combine(day, clock).astimezone()
    if not match["day"] and begins > now:
        begins = datetime.combine(day - timedelta(days=1), clock).astimezone()
    return begins, begins if match["second"] else begins + timedelta(seconds=59)


@contextmanager
def suggesting(backend: Backend) -> Iterator[None]:
    """Adds a suggestion to the hint of an error about a file that a snapshot does not have."""
    try:
        yield
    except FileNotInSnapshot as error:
        meant = file_hint(backend, error.data["hash"], error.data["file"])
        raise FileNotInSnapshot(error.message, hint=meant + error.default_hint, **error.data) from error


def file_hint(backend: Backend, tree: str, name: str) -> str:
    """Returns the beginning of a hint that suggests the most similar file, in that directory or of that name."""
    directory, base = os.path.split(name)
    names = list(pages(backend, "snapshot/listFiles", {"hash": tree}, "files"))
    elsewhere = [each for each in names if os.path.basename(each) == base]
    if len(elsewhere) == 1:
        return f"did you mean {elsewhere[0]!r}? "
    return did_you_mean(name, elsewhere or [each for each in names if os.path.dirname(each) == directory])
