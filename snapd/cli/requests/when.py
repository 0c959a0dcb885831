"""Reads the times of the command line, such as `@2h`, `@14:30` and `@2026-11-20`."""

from __future__ import annotations

import re
from datetime import datetime, time, timedelta

from snapd.core.errors import InvalidParams

TIMES = "@2h, @90m or @3d (ago), @14:30, @2026-11-20 or @2026-11-20T14:30"
_AGO = re.compile(r"(?:[0-9]+[smhdw])+")
_PART = re.compile(r"([0-9]+)([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_CLOCK = re.compile(
    r"(?:(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ](?=[0-9])|$))?(?P<clock>[0-9]{1,2}:[0-9]{2}(?P<second>:[0-9]{2})?)?"
)


def is_time(word: str) -> bool:
    """Whether a word has the form of a time; it may still be none, such as `@25:00`."""
    return word[:1] == "@" and len(word) > 1 and bool(_AGO.fullmatch(word[1:]) or _CLOCK.fullmatch(word[1:]))


def last_second(word: str, now: datetime) -> datetime:
    """The last second that a word names: `@14:30` is that whole minute, `@2026-11-20` that whole day.

    Args:
        word: of the command line, with its `@`. A clock without a day is the last time that a clock showed this.
        now: where the user is.

    Raises:
        InvalidParams: it is not a time.
    """
    try:
        if is_time(word):
            return _ago(word[1:], now) if _AGO.fullmatch(word[1:]) else _at(word[1:], now)
    except (ValueError, OverflowError, OSError):
        # no such day or hour, or one that no clock of this machine can show
        pass
    raise InvalidParams(f"expected a time after the @, got {word!r}", hint=f"times are {TIMES}", field="SNAPSHOT")


def _ago(text: str, now: datetime) -> datetime:
    amounts: dict[str, int] = {}
    for number, unit in _PART.findall(text):
        amounts[_UNITS[unit]] = amounts.get(_UNITS[unit], 0) + int(number)
    return now - timedelta(**amounts)


def _at(text: str, now: datetime) -> datetime:
    found = _CLOCK.fullmatch(text)
    assert found is not None
    if found["clock"] is None:
        return datetime.combine(datetime.fromisoformat(found["day"]), time(23, 59, 59)).astimezone()
    clock = time.fromisoformat(found["clock"].zfill(8 if found["second"] else 5))
    day = datetime.fromisoformat(found["day"]) if found["day"] else now
    begins = datetime.combine(day, clock).astimezone()
    if not found["day"] and begins > now:
        begins = datetime.combine(day - timedelta(days=1), clock).astimezone()
    return begins if found["second"] else begins + timedelta(seconds=59)
