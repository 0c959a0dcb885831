"""What the process that packs is told and says: one line of JSON each."""

from __future__ import annotations

import json
from typing import Any

import attrs

from snapd.core.errors import IoError, SnapdError, StorageFull, StoreCorrupt

from .packing import Order, Packed

_ERRORS = {error.kind: error for error in (StoreCorrupt, StorageFull, IoError)}


class Garbled(Exception):
    """What was said is no answer."""


def encode_order(order: Order) -> bytes:
    """A line that says what is to be packed."""
    return _line(attrs.asdict(order))


def decode_order(line: bytes) -> Order:
    """What `encode_order` was given."""
    return Order(**json.loads(line))


def encode_answer(answer: Packed | SnapdError) -> bytes:
    """A line that says what came of it."""
    if isinstance(answer, SnapdError):
        return _line({"error": answer.kind, "message": answer.message, "data": {"hint": answer.hint, **answer.data}})
    return _line({**attrs.asdict(answer), "loose": [oid.hex() for oid in answer.loose]})


def decode_answer(line: bytes) -> Packed:
    """What was packed.

    Raises:
        StoreCorrupt, StorageFull, IoError: what the process had raised.
        Garbled: the line is no answer, or not all of one.
    """
    try:
        said: dict[str, Any] = json.loads(line)
        answer = (
            _ERRORS[said["error"]](said["message"], **said["data"])
            if "error" in said
            else Packed(**{**said, "loose": [bytes.fromhex(oid) for oid in said["loose"]]})
        )
    except (ValueError, KeyError, TypeError) as error:
        raise Garbled from error
    if isinstance(answer, Packed):
        return answer
    raise answer


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode("ascii") + b"\n"
