"""What the process that checks is told and says: lines of JSON."""

from __future__ import annotations

import json
from typing import Any

import attrs

from snapd.core.check_report import CheckReport, Leftovers, Problem, TouchedFile, TouchedStep
from snapd.core.errors import IoError, SnapdError, StorageFull, StoreCorrupt

_ERRORS = {error.kind: error for error in (StoreCorrupt, StorageFull, IoError)}


class Garbled(Exception):
    """What was said is no answer."""


@attrs.frozen
class Progress:
    """How far the check is; see `Call.progress`."""

    message: str
    done: int
    total: int | None


@attrs.frozen
class Found:
    """What the check found.

    Attributes:
        checkup: that.
        asks_timeline: whether the open timeline is to be asked, too: the events fit together.
    """

    checkup: CheckReport
    asks_timeline: bool


def encode_question(store: str) -> bytes:
    """A line that says which store is to be checked."""
    return _line({"store": store})


def decode_question(line: bytes) -> str:
    """What `encode_question` was given."""
    return str(json.loads(line)["store"])


def encode_answer(answer: Progress | Found | SnapdError) -> bytes:
    """A line that says how far it is, or what came of it."""
    if isinstance(answer, SnapdError):
        return _line({"error": answer.kind, "message": answer.message, "data": {"hint": answer.hint, **answer.data}})
    if isinstance(answer, Progress):
        return _line({"progress": attrs.astuple(answer)})
    return _line({"found": attrs.asdict(answer.checkup), "asksTimeline": answer.asks_timeline})


def decode_answer(line: bytes) -> Progress | Found:
    """What `encode_answer` was given.

    Raises:
        StoreCorrupt, StorageFull, IoError: what the process had raised.
        Garbled: the line is no answer, or not all of one.
    """
    try:
        said: dict[str, Any] = json.loads(line)
        if "progress" in said:
            return Progress(*said["progress"])
        if "found" in said:
            return Found(_checkup(said["found"]), bool(said["asksTimeline"]))
        error = _ERRORS[said["error"]](said["message"], **said["data"])
    except (ValueError, KeyError, TypeError) as wrong:
        raise Garbled from wrong
    raise error


def _checkup(said: dict[str, Any]) -> CheckReport:
    return CheckReport(
        **{
            **said,
            "problems": tuple(_problem(**problem) for problem in said["problems"]),
            "repaired": tuple(_problem(**problem) for problem in said["repaired"]),
            "broken": _ids(said["broken"]),
            "leftovers": Leftovers(**said["leftovers"]),
        }
    )


def _problem(files: list[Any], snapshots: list[str], steps: list[Any], **rest: Any) -> Problem:
    return Problem(
        **rest,
        files=tuple(TouchedFile(bytes.fromhex(file["path"]), _ids(file["snapshots"])) for file in files),
        snapshots=_ids(snapshots),
        steps=tuple(TouchedStep(**step) for step in steps),
    )


def _ids(said: list[str]) -> tuple[bytes, ...]:
    return tuple(map(bytes.fromhex, said))


def _line(value: dict[str, Any]) -> bytes:
    # paths and ids
    return json.dumps(value, default=bytes.hex).encode("ascii") + b"\n"
