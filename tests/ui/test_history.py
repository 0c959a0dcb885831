"""What is loaded, kept up to date, and listed: without a terminal and without a daemon."""

from __future__ import annotations

import random
from typing import Any

import pytest

from snapd.cli.ui.history import History, Overview, Page, fetch, fetch_new, key_of
from snapd.cli.ui.outline import rows_of

TREE = "0" * 40


def at(second: int) -> str:
    return f"2026-01-01T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.000Z"


def session(name: str, started: int, **more: Any) -> dict[str, Any]:
    return {
        "sessionId": name, "startedAt": at(started), "stepCount": 1, "undoable": 1, "redoable": 0, "agent": "claude",
        **more,
    }  # fmt: skip


def change(name: str) -> dict[str, Any]:
    return {"file": name, "status": "modified", "additions": 1, "deletions": 0, "binary": False}


def step(name: str, session_id: str, second: int, *files: str, **more: Any) -> dict[str, Any]:
    made = {
        "stepId": name, "sessionId": session_id, "index": 0, "startedAt": at(second), "from": TREE, "to": TREE,
        "state": "applied", "files": [change(file) for file in files], **more,
    }  # fmt: skip
    return {"kind": "step", "at": at(second), "step": made, "before": TREE, "after": TREE, "files": made["files"]}


def user(second: int, *files: str, kind: str = "user") -> dict[str, Any]:
    return {"kind": kind, "at": at(second), "before": TREE, "after": TREE, "files": [change(file) for file in files]}


class Daemon:
    """Answers `session/history` from a list, in pages, and counts them."""

    def __init__(self, entries: list[dict[str, Any]]) -> None:
        self.entries = entries
        self.asked = 0

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        assert method == "session/history"
        self.asked += 1
        begin = int(params["cursor"] or 0)
        end = begin + params["limit"]
        more = {"nextCursor": str(end)} if end < len(self.entries) else {}
        return {"entries": self.entries[begin:end], **more}


def loaded(entries: list[dict[str, Any]], *sessions: dict[str, Any], cursor: str | None = None) -> History:
    history = History()
    overview = Overview({found["sessionId"]: found for found in sessions}, frozenset())
    history.begin(overview, Page(entries, cursor))
    return history


def shown(history: History, *turned: tuple[str, ...], words: str = "") -> list[str]:
    """The rows as text: their names, indented."""
    lines = []
    for row in rows_of(history, turned, words):
        name = row.shows["file"] if row.kind == "file" else row.key[1] if row.kind in ("session", "step") else row.kind
        lines.append("  " * row.depth + name)
    return lines


def test_a_long_history_is_fetched_page_by_page() -> None:
    daemon = Daemon([step(f"{number:016x}", "S", 9000 - number, "a") for number in range(3000)])
    first = fetch(daemon.ask, 1)
    assert (len(first.entries), daemon.asked) == (100, 1)
    history = loaded(first.entries, session("S", 0), cursor=first.cursor)
    assert rows_of(history, ())[-1].kind == "older"
    while history.cursor is not None:
        history.take_older(fetch(daemon.ask, 1, cursor=history.cursor))
    assert history.entries == daemon.entries
    assert daemon.asked == 30
    assert len(rows_of(history, ())) == 3001


def test_what_is_new_is_fetched_down_to_what_is_known() -> None:
    """Whatever came, and however much: afterwards the list is that of the daemon, as far as it was loaded."""
    random.seed(7)
    for _ in range(50):
        entries = [step(f"{number:016x}", "S", 9000 - number, "a") for number in range(random.randrange(900))]
        old = entries[random.randrange(len(entries) + 1) :]
        history = loaded(list(old), session("S", 0))
        daemon = Daemon(entries)
        new = len(entries) - len(old)
        history.take_new(fetch_new(daemon.ask, history.known()))
        assert history.entries == entries[: len(history.entries)]
        # what was loaded stays, but where so much came that the list begins anew
        assert len(history.entries) == len(entries) or (new >= 480 and history.cursor is not None)
        assert daemon.asked <= 1 + new // 20


def test_a_notification_replaces_its_step_and_adds_a_new_one() -> None:
    begun = step("a" * 16, "S", 10)
    history = loaded([user(20, "u"), step("b" * 16, "S", 5, "b")], session("S", 0))
    open_step = {**begun["step"], "state": "open"}
    del open_step["files"], open_step["to"]
    history.apply_event(session("S", 0, stepCount=2), open_step)
    assert [key_of(entry)[1] for entry in history.entries[1:]] == ["a" * 16, "b" * 16]
    assert history.open_steps == {"a" * 16}
    assert history.sessions["S"]["stepCount"] == 2
    ended = step("a" * 16, "S", 10, "x")["step"]
    history.apply_event(session("S", 0, stepCount=2), ended)
    assert history.entries[1] == step("a" * 16, "S", 10, "x")
    assert history.open_steps == frozenset()


def test_rows_are_ordered_by_the_starts_of_sessions() -> None:
    entries = [
        user(60, "late"),
        step("4" * 16, "OLD", 50, "d", index=1),
        step("3" * 16, "NEW", 40, "c"),
        # noticed when the first step of the session began
        user(40, "before"),
        user(30, "r", kind="restore"),
        step("1" * 16, "OLD", 20, "a"),
        user(10, "first"),
    ]
    history = loaded(entries, session("OLD", 19), session("NEW", 39))
    assert shown(history) == [
        "between", "NEW", "  " + "3" * 16, "between", "OLD", "  " + "4" * 16, "  " + "1" * 16, "between",
    ]  # fmt: skip
    assert shown(history, ("step", "3" * 16), ("session", "OLD"), ("between", "OLD"))[:4] == [
        "between", "NEW", "  " + "3" * 16, "    c",
    ]  # fmt: skip
    assert shown(history, ("session", "OLD")) == ["between", "NEW", "  " + "3" * 16, "between", "OLD", "between"]
    assert shown(history, ("between", "OLD"))[3:6] == ["between", "  user", "  operation"]


def test_sessions_and_steps_that_changed_nothing_are_not_listed() -> None:
    entries = [step("1" * 16, "EMPTY", 20), step("2" * 16, "SAID", 10, tool="Bash")]
    ended = {"endedAt": at(30)}
    history = loaded(entries, session("EMPTY", 19, **ended), session("SAID", 9, **ended), session("GONE", 5, **ended))
    assert shown(history) == ["SAID", "  " + "2" * 16]
    history.apply_event(session("JUST BEGUN", 40, stepCount=0), None)
    assert shown(history)[0] == "JUST BEGUN"


@pytest.mark.parametrize(
    ("words", "steps"),
    [("BASKET", ["1"]), ("bash", ["2"]), ("22222", ["2"]), ("claude", ["1", "2"]), ("nowhere", [])],
)
def test_filter(words: str, steps: list[str]) -> None:
    entries = [step("2" * 16, "S", 20, "b", tool="Bash"), step("1" * 16, "S", 10, "src/basket.py"), user(5, "notes")]
    found = shown(loaded(entries, session("S", 0)), words=words)
    assert found == (["S", *(f"  {name * 16}" for name in reversed(steps))] if steps else [])


def test_filter_shows_what_the_user_changed() -> None:
    history = loaded([user(15, "notes.txt"), step("1" * 16, "S", 10, "a")], session("S", 0))
    assert shown(history, words="notes") == ["between", "  user"]
