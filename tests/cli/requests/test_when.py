"""The times of the command line."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone

import pytest

from snapd.cli.requests.snapshots import is_time, last_second
from snapd.model.errors import InvalidParams


@pytest.fixture(autouse=True)
def in_berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Summer time begins on 2026-03-29 there, and ends on 2026-10-25."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone()


NOW = "2026-11-23T15:20:10"


@pytest.mark.parametrize(
    ("word", "moment"),
    [
        ("@2h", "2026-11-23T13:20:10"),
        ("@90m", "2026-11-23T13:50:10"),
        ("@3d", "2026-11-20T15:20:10"),
        ("@1w", "2026-11-16T15:20:10"),
        ("@1h30m", "2026-11-23T13:50:10"),
        ("@0s", NOW),
        # as precise as it is given
        ("@14:30", "2026-11-23T14:30:59"),
        ("@9:05", "2026-11-23T09:05:59"),
        ("@14:30:20", "2026-11-23T14:30:20"),
        ("@15:20", "2026-11-23T15:20:59"),
        # not in the future
        ("@15:21", "2026-11-22T15:21:59"),
        ("@23:00:01", "2026-11-22T23:00:01"),
        ("@2026-11-20", "2026-11-20T23:59:59"),
        ("@2026-11-20T14:30", "2026-11-20T14:30:59"),
        ("@2026-11-20 14:30:05", "2026-11-20T14:30:05"),
        ("@2026-12-24", "2026-12-24T23:59:59"),
    ],
)
def test_times(word: str, moment: str) -> None:
    assert is_time(word)
    assert last_second(word, at(NOW)) == at(moment)


def test_summer_time() -> None:
    zone = timezone(timedelta(hours=2))
    assert last_second("@2026-07-01T12:00:00", at(NOW)) == datetime(2026, 7, 1, 12, tzinfo=zone)
    # a day of 25 hours: hours ago are hours, and a clock shows what it showed
    now = datetime(2026, 10, 25, 12, tzinfo=UTC).astimezone()
    assert last_second("@24h", now) == now - timedelta(hours=24)
    assert last_second("@13:30", now) == datetime(2026, 10, 24, 11, 30, 59, tzinfo=UTC)
    assert last_second("@12:30", now) == datetime(2026, 10, 25, 11, 30, 59, tzinfo=UTC)


@pytest.mark.parametrize(
    "word",
    ["@", "@h", "@2", "@2y", "@25:00", "@14:60", "@2026-13-01", "@2026-02-30", "@2026-11-20T", "@2026-11-20T25:00",
     "@14:30pm", "@-2h", "@" + "9" * 30 + "d", "@99999d99999w", "@\u0662h", "@14:30\n", "@0000-01-01"],
)  # fmt: skip
def test_no_times(word: str) -> None:
    with pytest.raises(InvalidParams, match="expected a time after the @") as raised:
        last_second(word, at(NOW))
    assert "@2h" in raised.value.hint
