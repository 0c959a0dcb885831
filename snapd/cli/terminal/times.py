"""Formats times for people."""

from __future__ import annotations

from datetime import datetime, timedelta

from .output import counted

_UNITS = ((60, "second"), (60, "minute"), (24, "hour"))
WEEK = 7
"""The days from which a time is shown as a date."""


def local_now() -> datetime:
    """Returns the current time in the user's time zone."""
    return datetime.now().astimezone()


def moment(text: str) -> datetime:
    """Returns a time of the wire in the user's time zone."""
    return datetime.fromisoformat(text).astimezone()


def elapsed(since: datetime, now: datetime) -> tuple[int, str]:
    """Returns the time between, in the largest unit that fits."""
    amount = max(0, int((now - since).total_seconds()))
    for size, unit in _UNITS:
        if amount < size:
            return amount, unit
        amount //= size
    return amount, "day"


def format_duration(since: datetime, now: datetime) -> str:
    """Formats how long something has lasted."""
    return counted(*elapsed(since, now))


def ago(when: datetime, now: datetime) -> str:
    """Formats how long ago something was; its date if that is more than a week."""
    amount, unit = elapsed(when, now)
    if unit == "day" and amount >= WEEK:
        return f"{when.day} {when:%b %Y}"
    return f"{counted(amount, unit)} ago" if amount else "now"


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
