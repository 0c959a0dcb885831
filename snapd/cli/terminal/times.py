"""Times as people say them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from snapd.core.errors import InvalidParams

_AGO = re.compile(r"(?:[0-9]+[smhdw])+")
_PART = re.compile(r"([0-9]+)([smhdw])")
_CLOCK = re.compile(r"([0-9]{1,2}):([0-9]{2})")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_UNITS = ((60, "second"), (60, "minute"), (24, "hour"), (7, "day"))


def local_now() -> datetime:
    """Now, where the user is."""
    return datetime.now().astimezone()


def moment(text: str) -> datetime:
    """A time of the wire, where the user is."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone()


def lasting(since: datetime, now: datetime) -> str:
    """How long something has gone on, in the largest unit that fits."""
    amount = max(0, int((now - since).total_seconds()))
    for size, unit in _UNITS:
        if amount < size or unit == "day":
            return f"{amount} {unit}{'' if amount == 1 else 's'}"
        amount //= size
    raise AssertionError("unreachable")


def ago(when: datetime, now: datetime) -> str:
    """How long ago something was; its date where that is more than a week."""
    amount = int((now - when).total_seconds())
    if amount < 1:
        return "now"
    for size, unit in _UNITS:
        if amount < size:
            return f"{amount} {unit}{'' if amount == 1 else 's'} ago"
        amount //= size
    return f"{when.day} {when:%b %Y}"


def clock(when: datetime, now: datetime) -> str:
    """The time of something, with its date where that is another day."""
    if when.date() == now.date():
        return f"{when:%H:%M}"
    year = "" if when.year == now.year else f" {when:%Y}"
    return f"{when.day} {when:%b}{year} {when:%H:%M}"


def day(when: datetime, now: datetime) -> str:
    """The day of something."""
    if when.date() == now.date():
        return "today"
    if when.date() == (now - timedelta(days=1)).date():
        return "yesterday"
    return f"{when:%A}, {when.day} {when:%B %Y}"


def past(text: str, now: datetime, field: str) -> datetime:
    """The time that a word of the command line means: `90m` ago, `14:30` when it last was, `2026-11-20`, or with both.

    Args:
        text: the word.
        now: where the user is.
        field: what the word belongs to, for the error.

    Raises:
        InvalidParams: it is no time.
    """
    try:
        return _past(text, now)
    except (ValueError, OverflowError, OSError) as error:
        raise InvalidParams(
            f"{field}: expected a time, got {text!r}",
            hint="such as 90m, 2h, 3d, 14:30, 2026-11-20 or '2026-11-20 14:30'",
            field=field,
        ) from error


def _past(text: str, now: datetime) -> datetime:
    if _AGO.fullmatch(text):
        return now - timedelta(seconds=sum(int(count) * _SECONDS[unit] for count, unit in _PART.findall(text)))
    if (clock := _CLOCK.fullmatch(text)) is not None:
        when = now.replace(hour=int(clock[1]), minute=int(clock[2]), second=0, microsecond=0, tzinfo=None)
        if when > now.replace(tzinfo=None):
            when -= timedelta(days=1)
        # by the clock of that day, which summer time may have moved since
        return when.astimezone()
    return datetime.fromisoformat(text).astimezone()
