"""Formats times for people."""

from __future__ import annotations

from datetime import datetime, timedelta

_UNITS = ((60, "second"), (60, "minute"), (24, "hour"), (7, "day"))


def local_now() -> datetime:
    """Returns the current time in the user's time zone."""
    return datetime.now().astimezone()


def moment(text: str) -> datetime:
    """Returns a time of the wire in the user's time zone."""
    return datetime.fromisoformat(text).astimezone()


def format_duration(since: datetime, now: datetime) -> str:
    """Formats how long something has lasted, in the largest unit that fits."""
    amount = max(0, int((now - since).total_seconds()))
    for size, unit in _UNITS:
        if amount < size or unit == "day":
            return f"{amount} {unit}{'' if amount == 1 else 's'}"
        amount //= size
    raise AssertionError("unreachable")


def ago(when: datetime, now: datetime) -> str:
    """Formats how long ago something was; its date if that is more than a week."""
    amount = int((now - when).total_seconds())
    if amount < 1:
        return "now"
    for size, unit in _UNITS:
        if amount < size:
            return f"{amount} {unit}{'' if amount == 1 else 's'} ago"
        amount //= size
    return f"{when.day} {when:%b %Y}"


def clock(when: datetime, now: datetime) -> str:
    """Formats the time of something, with its date if that is another day."""
    if when.date() == now.date():
        return f"{when:%H:%M}"
    year = "" if when.year == now.year else f" {when:%Y}"
    return f"{when.day} {when:%b}{year} {when:%H:%M}"


def day(when: datetime, now: datetime) -> str:
    """Formats the day of something."""
    if when.date() == now.date():
        return "today"
    if when.date() == (now - timedelta(days=1)).date():
        return "yesterday"
    return f"{when:%A}, {when.day} {when:%B %Y}"
