"""The picture of a history, as data and as text: the clock and the time zone stand still."""

from __future__ import annotations

import re
import time
from argparse import Namespace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from snapd.cli.commands import graph
from snapd.cli.commands.log import entry_line, table
from snapd.cli.requests.snapshots import first_second
from snapd.cli.terminal.layout import columns, fit, fit_name
from snapd.cli.terminal.naming import step_name
from snapd.cli.terminal.output import Painter, summary
from snapd.cli.terminal.plans import file_lines
from snapd.cli.terminal.times import ago
from snapd.model.errors import InvalidParams

if TYPE_CHECKING:
    from collections.abc import Iterator

NOW = datetime(2026, 11, 21, 14, 40, tzinfo=UTC)
TREE = "0123456789abcdef0123456789abcdef01234567"


def draw(
    history: list[dict[str, Any]], sessions: dict[str, dict[str, Any]], painter: Painter, width: int, now: datetime
) -> str:
    begun = {entry["step"]["sessionId"] for entry in history if entry["kind"] == "step" and not entry["step"]["index"]}
    return graph.draw(history, sessions, painter, width, now, begun)


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch, cut_ids: None) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def row(file: str, status: str = "modified", plus: int = 1, minus: int = 1, **more: Any) -> dict[str, Any]:
    return {"file": file, "status": status, "additions": plus, "deletions": minus, "binary": False, **more}


def step(at: str, name: str, session: str, index: int, files: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    began = f"2026-11-{at}:00.000Z"
    about = {"stepId": name * 2, "sessionId": session, "index": index, "startedAt": began}
    found = {**about, "state": "applied", "files": files, **more}
    return {"kind": "step", "at": began, "before": TREE, "files": files, "step": found}


def event(kind: str, at: str, files: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"kind": kind, "at": f"2026-11-{at}:00.000Z", "before": TREE, "after": TREE, "files": files, **more}


def session(name: str, agent: str | None = None, title: str | None = None, **more: Any) -> dict[str, Any]:
    said = {"agent": agent, "title": title}
    given = {key: value for key, value in said.items() if value is not None}
    counts = {"stepCount": 3, "undoable": 2, "redoable": 1, "name": title or agent or name}
    return {
        "sessionId": name,
        "name": title or agent or name,
        "startedAt": "2026-11-21T14:00:00.000Z",
        **counts,
        **given,
        **more,
    }


SESSIONS = {
    "5f1c0a2288888888": session("5f1c0a2288888888", "claude", "rework the parser"),
    "codex": session("codex", "codex", endedAt="2026-11-21T14:35:00.000Z"),
}
HISTORY = [
    step("21T14:36", "aaaaaaa4", "5f1c0a2288888888", 2, [], tool="Bash", description="npm\n test", state="open"),
    event("user", "21T14:36", [row("notes.md", "added", 2, 0)]),
    event("undo", "21T14:35", [row("src/a.py")], sessionId="5f1c0a2288888888", steps=["aaaaaaa1aaaaaaa1"]),
    step("21T14:34", "bbbbbbb0", "codex", 0, [row("logo.png", "added", binary=True), row("src/a.py", shared=True)]),
    step("21T14:33", "aaaaaaa2", "5f1c0a2288888888", 1, [], tool="Read"),
    step("20T23:59", "aaaaaaa5", "5f1c0a2288888888", 1, [row("src/b.py")], tool="Edit", state="partly"),
    step("20T23:59", "aaaaaaa1", "5f1c0a2288888888", 0, [row("src/a.py")], tool="Edit", state="undone"),
    event("restore", "19T08:00", [row("old", "deleted", 0, 9)]),
]
PICTURE = """\
       ┊      today
       ┊ ╭    Claude Code  5f1c0a22  open  rework the parser
14:36  ┊ ◎    aaaaaaa4  Bash  npm test  open for 4 minutes
14:36  ◦ │    you
       ┊ │              A notes.md  +2 -0
14:35  ┊ ◆    undo      aaaaaaa1 Edit
       ┊ │              M src/a.py  +1 -1
       ┊ │ ╭  Codex
14:34  ┊ │ ●  bbbbbbb0  2 files
       ┊ │ │            A logo.png  binary
       ┊ │ │            M src/a.py  +1 -1  shared
       ├─┼─╯
14:33  ┊ ●    aaaaaaa2  Read  nothing changed
       ┊ │    yesterday
23:59  ┊ ◐    aaaaaaa5  Edit  partly undone
       ┊ │              M src/b.py  +1 -1
23:59  ┊ ○    aaaaaaa1  Edit  undone
       ┊ │              M src/a.py  +1 -1
       ├─╯
       ┊      Thursday, 19 November 2026
08:00  ◆      restore   to 01234567
       ┊                D old  +0 -9"""


def plain(color: str = "never") -> Painter:
    return Painter(Namespace(color=color))


def test_the_picture() -> None:
    assert draw(HISTORY, SESSIONS, plain(), 80, NOW) == PICTURE


def test_colours_change_nothing_else() -> None:
    coloured = draw(HISTORY, SESSIONS, plain("always"), 80, NOW)
    assert re.sub(r"\033\[[0-9;]+m", "", coloured) == PICTURE
    lines = coloured.split("\n")
    # a step that was undone is dim as a whole, and so is what the user did
    assert set(re.findall(r"\033\[([0-9]+)m", lines[16])) == {"2", "0"}
    assert "\033[38;5;130m◎" in lines[2]
    assert "\033[38;5;30m●" in lines[8]


@pytest.mark.parametrize("width", [40, 60, 80, 133])
def test_no_line_is_longer_than_the_terminal(width: int) -> None:
    long = "x" * 70
    history = [
        step(
            "21T14:36", "aaaaaaa4", "5f1c0a2288888888", 1, [row(f"{long}/1"), row("b", shared=True)], description=long
        ),
        event("undo", "21T14:35", [], sessionId="codex", steps=["a" * 16] * 12),
        step("21T14:34", "bbbbbbb0", "codex", 0, [row(f"資料/{'資' * 50}/報告", plus=123456)], tool="資" * 80),
        step("21T14:34", "bbbbbbb1", "5f1c0a2288888888", 0, [row("c")], tool=long, description=long),
    ]
    sessions = {**SESSIONS, "codex": session("codex", long, long)}
    lines = draw(history, sessions, plain(), width, NOW).split("\n")
    assert max(map(columns, lines)) <= width
    assert any("…" in line for line in lines)


def test_a_step_is_called_after_what_it_changed() -> None:
    moved = row("src/b.py", plus=0, minus=0, renamedFrom="src/a.py")
    history = [
        step("21T14:36", "00000001", "codex", 1, [moved]),
        step("21T14:35", "00000002", "codex", 1, [row("src/x/a"), row("src/x/y/b"), row("src/x/c", "added")]),
        step("21T14:34", "00000003", "codex", 1, [row("src/a.py", shared=True)]),
        step("21T14:33", "00000004", "codex", 1, [row("a/" * 60 + "the end")], state="undone"),
        step("21T14:32", "00000005", "codex", 0, [row("a"), row("b")], tool="Bash", description="make"),
    ]
    lines = draw(history, SESSIONS, plain(), 60, NOW).split("\n")
    assert [line[12:] for line in lines[2:]] == [
        "00000001  R src/a.py → src/b.py  +0 -0",
        "00000002  3 files in src/x/",
        *("          M src/x/a    +1 -1", "          M src/x/y/b  +1 -1", "          A src/x/c    +1 -1"),
        *("00000003  src/a.py +1 -1", "          M src/a.py  +1 -1  shared"),
        "00000004  M …/a/a/a/a/a/a/the end  +1 -1  undone",
        *("00000005  Bash  make", "          M a  +1 -1", "          M b  +1 -1", ""),
    ]
    lines = draw(history, SESSIONS, plain(), 40, NOW).split("\n")
    assert lines[1:4] == ["       ┊ ╭  Codex", "14:36  ┊ ●  00000001", "       ┊ │    R …c/a.py → …c/b.py  +0 -0"]
    at = lines.index("14:33  ┊ ○  00000004  undone")
    assert lines[at + 1] == "       ┊ │    M …/a/a/a/a/the end  +1 -1"


def test_names_of_steps() -> None:
    about = {"index": 4, "stepId": "a" * 16}
    assert step_name(about) == "step 5"
    assert step_name({**about, "files": []}) == "step 5"
    assert step_name({**about, "files": [row("basket.py", plus=7, minus=2)]}) == "basket.py +7 -2"
    assert step_name({**about, "files": [row("logo.png", binary=True)]}) == "logo.png binary"
    assert step_name({**about, "files": [row("b", renamedFrom="a")]}) == "a → b +1 -1"
    assert step_name({**about, "files": [row("src/a"), row("srcs/a")]}) == "2 files"
    assert step_name({**about, "files": [row("src/\n/a"), row("src/\n/b/c")]}) == "2 files in src/\\n/"
    assert step_name({**about, "tool": "Bash", "files": [row("a")]}) == "Bash"
    assert step_name({**about, "description": "a\nb", "tool": "Bash"}) == "Bash a b"


def test_many_agents_on_a_narrow_terminal() -> None:
    names = [f"s{number}" for number in range(30)]
    sessions = {name: session(name, name, "资" * 40) for name in names}
    files = [row("资" * 30, renamedFrom="a" * 30), row("b")]
    history = [step("21T14:36", f"{at:08}", name, 1, files, tool="Edit") for at, name in enumerate(names)]
    for width in (40, 60):
        lines = draw(history, sessions, plain(), width, NOW).split("\n")
        assert max(map(columns, lines)) <= width


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_lists_fit(width: int) -> None:
    long = "资料/" * 30 + "end.py"
    files = [row(long, renamedFrom="a/" * 30 + "b"), row("short", plus=1234567), row("bin" * 50, binary=True)]
    lines = summary(plain(), files, width).split("\n")
    assert max(map(columns, lines)) <= width
    found = [session("x" * 16, "claude", long, endedAt="z"), session("a name that somebody gave " * 3, "codex")]
    lines = table(found, plain(), width, NOW).split("\n")
    assert max(map(columns, lines)) <= width
    assert lines[0].split()[0] == "session"
    for entry in HISTORY:
        line = entry_line({**entry, "files": files}, SESSIONS, plain(), width, NOW)
        assert columns(line) <= width
        assert line.startswith((*"ab", TREE[:8]))


def test_a_plan_on_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    files = [
        {"file": "资料/" * 9, "outcome": "conflict", "reason": "changedSince"},
        {"file": "short", "outcome": "kept", "reason": "ignored"},
        {"file": "a", "outcome": "deleted"},
        {"file": "b", "outcome": "restored", "renamedFrom": "a"},
    ]
    lines = file_lines(plain(), {"files": files}, None, planned=False)
    assert "\n".join(lines).split("\n") == [
        # what is decided about is named in full
        f"conflict  {'资料/' * 9}",
        "          (changed since)",
        "kept      short  (ignored)",
        "restored  a → b",
    ]


def test_a_line_for_each_entry() -> None:
    lines = [entry_line(entry, SESSIONS, plain(), 80, NOW) for entry in HISTORY]
    assert lines == [
        "aaaaaaa4  14:36   Claude Code  Bash npm test  running",
        "01234567  14:36   you          notes.md +2 -0",
        "01234567  14:35   Claude Code  undo aaaaaaa1  +1 -1",
        "bbbbbbb0  14:34   Codex        2 files  +2 -2",
        "aaaaaaa2  14:33   Claude Code  Read",
        "aaaaaaa5  20 Nov  Claude Code  Edit  +1 -1  partly undone",
        "aaaaaaa1  20 Nov  Claude Code  Edit  +1 -1  undone",
        "01234567  19 Nov  you          restore  +0 -9",
    ]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("90m", "2026-11-21T13:10"),
        ("2h", "2026-11-21T12:40"),
        ("1h30m", "2026-11-21T13:10"),
        ("3d", "2026-11-18T14:40"),
        ("1w", "2026-11-14T14:40"),
        ("14:30", "2026-11-21T14:30"),
        ("14:41", "2026-11-20T14:41"),
        ("2026-11-20", "2026-11-20T00:00"),
        ("2026-11-20 09:05", "2026-11-20T09:05"),
        ("2026-11-20T09:05", "2026-11-20T09:05"),
    ],
)
def test_times_of_the_command_line(text: str, meant: str) -> None:
    assert first_second(text, NOW, "--since") == datetime.fromisoformat(f"{meant}+00:00")


@pytest.mark.parametrize("text", ["", "soon", "25:00", "12", "2026-13-01", "9999999999d", "999999w", "-1h"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(InvalidParams, match="--since: expected a time"):
        first_second(text, NOW, "--since")


def test_many_files_are_counted() -> None:
    files = [row(f"f{number}") for number in range(40)]
    lines = draw([event("user", "21T14:00", files)], {}, plain(), 80, NOW).split("\n")
    assert len(lines) == 8
    assert lines[-1].endswith("… and 35 more files")
    six = draw([event("user", "21T14:00", files[:6])], {}, plain(), 80, NOW).split("\n")
    assert (len(six), six[-1].split()) == (8, ["┊", "M", "f5", "+1", "-1"])


def test_names_that_play_tricks() -> None:
    evil = "a\033[31m\nb\t\u202e"
    history = [
        step("21T14:36", "aaaaaaa4", "s\033", 0, [row(evil)], tool=evil, description=f"{evil}!", parentStepId="c" * 16)
    ]
    shown = draw(history, {"s\033": session("s\033", evil, evil)}, plain(), 200, NOW)
    assert len(shown.split("\n")) == 5
    assert all(char.isprintable() for char in shown.replace("\n", ""))
    assert "part of cccccccc" in shown


def test_a_lane_is_used_again() -> None:
    sessions = {name: session(name, name) for name in "abc"}
    history = [
        step("21T14:30", "00000003", "c", 0, [row("f")]),
        step("21T14:29", "00000002", "b", 1, [row("f")]),
        step("21T14:28", "00000001", "a", 0, [row("f")]),
        step("21T14:27", "00000000", "b", 0, [row("f")]),
    ]
    lines = draw(history, sessions, plain(), 80, NOW).split("\n")
    assert [line[7:13].rstrip() for line in lines] == [
        *("┊", "┊ ╭", "┊ ●", "├─╯"),
        *("┊ ╭", "┊ ●"),
        *("┊ │ ╭", "┊ │ ●", "├─┼─╯"),
        *("┊ ●", "├─╯"),
    ]


TABLE = """\
session   agent        name             started         steps  undo  redo
codex     Codex                         40 minutes ago      3     2     1  ended
5f1c0a22  Claude Code  rework the par…  40 minutes ago      3     2     1  open"""


def test_the_table_of_sessions() -> None:
    found = [SESSIONS["codex"], SESSIONS["5f1c0a2288888888"]]
    assert table(found, plain(), 80, NOW) == TABLE
    assert re.sub(r"\033\[[0-9]+m", "", table(found, plain("always"), 80, NOW)) == TABLE
    long = [session("x", "agent", "a title that is long " * 9, endedAt="z")]
    assert max(map(columns, table(long, plain(), 80, NOW).split("\n"))) <= 80


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-5, "now"),
        (0, "now"),
        (1, "1 second ago"),
        (59, "59 seconds ago"),
        (60, "1 minute ago"),
        (3599, "59 minutes ago"),
        (3600, "1 hour ago"),
        (86399, "23 hours ago"),
        (86400, "1 day ago"),
        (604799, "6 days ago"),
        (604800, "14 Nov 2026"),
    ],
)
def test_ago(seconds: int, said: str) -> None:
    assert ago(NOW - timedelta(seconds=seconds), NOW) == said


def test_fitting() -> None:
    assert (columns("資料x"), columns("e\u0301")) == (5, 1)
    assert (fit("abcdef", 6), fit("abcdef", 5), fit("ab cdef", 4), fit("資料資料", 6)) == (
        "abcdef",
        "abcd…",
        "ab…",
        "資料…",
    )
    assert (fit_name("src/abc", 7), fit_name("src/abc", 5), fit_name("資料資料", 6)) == ("src/abc", "…/abc", "…資料")
    assert (fit("abc", 0), fit_name("abc", 0)) == ("", "")
