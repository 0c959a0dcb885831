"""Times as people say them."""

from __future__ import annotations

from datetime import datetime, timedelta

_UNITS = ((60, "second"), (60, "minute"), (24, "hour"), (7, "day"))


def local_now() -> datetime:
    """Now, where the user is."""
    return datetime.now().astimezone()


def moment(text: str) -> datetime:
    """A time of the wire, where the user is."""
    return datetime.fromisoformat(text).astimezone()


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
