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
    found = _named(word[1:], now) if is_time(word) else None
    if found is None:
        raise InvalidParams(f"expected a time after the @, got {word!r}", hint=f"times are {TIMES}", field="SNAPSHOT")
    return found[1]


def first_second(text: str, now: datetime, option: str) -> datetime:
    """The first second that the value of an option names, which may be without the `@`.

    Args:
        text: the value.
        now: where the user is.
        option: its name, for the error.

    Raises:
        InvalidParams: it is not a time.
    """
    word = f"@{text.removeprefix('@')}"
    found = _named(word[1:], now) if is_time(word) else None
    if found is None:
        times = TIMES.replace("@", "")
        raise InvalidParams(f"{option}: expected a time, got {text!r}", hint=f"times are {times}", field=option)
    return found[0]


def _named(text: str, now: datetime) -> tuple[datetime, datetime] | None:
    """The first and the last second that a text names; None if there is no such day or hour."""
    try:
        if _AGO.fullmatch(text):
            ago = _ago(text, now)
            return ago, ago
        return _at(text, now)
    except (ValueError, OverflowError, OSError):
        # or one that no clock of this machine can show
        return None


def _ago(text: str, now: datetime) -> datetime:
    amounts: dict[str, int] = {}
    for number, unit in _PART.findall(text):
        amounts[_UNITS[unit]] = amounts.get(_UNITS[unit], 0) + int(number)
    return now - timedelta(**amounts)


def _at(text: str, now: datetime) -> tuple[datetime, datetime]:
    found = _CLOCK.fullmatch(text)
    assert found is not None
    if found["clock"] is None:
        day = datetime.fromisoformat(found["day"])
        return day.astimezone(), datetime.combine(day, time(23, 59, 59)).astimezone()
    clock = time.fromisoformat(found["clock"].zfill(8 if found["second"] else 5))
    day = datetime.fromisoformat(found["day"]) if found["day"] else now
    begins = datetime.combine(day, clock).astimezone()
    if not found["day"] and begins > now:
        begins = datetime.combine(day - timedelta(days=1), clock).astimezone()
    return begins, begins if found["second"] else begins + timedelta(seconds=59)
