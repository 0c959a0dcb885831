"""`review`, `keep`, `blame`, and `revert -p`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from snapd_client import Client

from snapd.sharing.sessions import SHORTEST
from tests.cli.running import Terminal
from tests.cli.steps import numbered, put, read, take
from tests.support.system_calls import observe

if TYPE_CHECKING:
    from tests.cli.running import Home

LATER = numbered(30, l2=b"one", l14=b"mine", l25=b"two")


@pytest.fixture
def steps(home: Home, project: str) -> list[str]:
    """A step of claude and one of codex in one file, with a line of the user's between."""
    put(project, {"f.txt": numbered(30), "kept.txt": b"1\n"})
    home.ok(project, "track")
    first = take(home, project, "s1", {"f.txt": numbered(30, l2=b"one"), "new": b"n\n"}, "--agent", "claude")
    put(project, {"f.txt": numbered(30, l2=b"one", l14=b"mine")})
    return [first, take(home, project, "s2", {"f.txt": LATER}, "--agent", "codex")]


def test_what_is_pending(home: Home, project: str, steps: list[str]) -> None:
    assert home.ok(project, "review").splitlines() == [
        "M f.txt  +2 -2 ++--",
        "A new    +1 -0 +",
        "2 files changed, +3 -2",
        "by Claude Code: 2 files",
        "by Codex: 1 file",
        "'snapd keep' accepts changes, 'snapd revert -p' takes them back",
    ]
    assert home.ok(project, "review", "--agent", "codex").splitlines()[0] == "M f.txt  +2 -2 ++--"
    assert home.ok(project, "review", "--session", "s2", "f.txt").splitlines()[1] == "1 file changed, +2 -2"
    shown = home.ok(project, "review", "-p").splitlines()
    assert [line for line in shown if line.startswith("hunk")] == [
        "hunk 1 by Claude Code",
        "hunk 2 by Codex",
        "hunk 1 by Claude Code",
    ]
    assert "+mine" not in shown
    for args, said in (
        (("review", "kept.txt"), "kept.txt has no pending changes"),
        (("review", "--agent", "nobody"), "no session of 'nobody'"),
        (("keep",), "expected files, a step, --session or --all"),
        (("keep", "--all", "f.txt"), "expected only one of them"),
        (("keep", "kept.txt"), "kept.txt has no pending changes"),
        (("keep", "abcdef"), "no step 'abcdef'"),
        (("revert", "last"), "expected a snapshot and the files"),
        (("revert", "-p"), "name files without -p"),
        (("blame", "f.txt:9-3"), "expected lines such as 12 or 12-20"),
        (("blame", "f.txt:31"), "f.txt has 30 lines"),
        (("blame", "nope"), "nope is not there"),
    ):
        result = home.run(project, *args)
        assert result.code in (1, 2)
        assert said in result.err, args


def test_requests_do_not_grow_with_the_files(home: Home, project: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put(project, {"old": b"o\n"})
    home.ok(project, "track")
    take(home, project, "s1", {f"f{number}": b"new\n" for number in range(40)}, "--agent", "claude")
    asked: list[str] = []

    def note(_: str, __: Client, method: str, *___: Any, **____: Any) -> None:
        asked.append(method)

    observe(Client, "request", note, replace=monkeypatch.setattr)
    assert "by Claude Code: 40 files" in home.ok(project, "review")
    assert asked.count("session/list") == 1
    assert len(asked) < 10


def test_what_is_kept_is_pending_no_more(home: Home, project: str, steps: list[str]) -> None:
    assert home.ok(project, "keep", steps[1][:10]) == "kept the changes of 1 file; 2 files left to review\n"
    assert home.ok(project, "review").splitlines()[:2] == ["M f.txt  +1 -1 +-", "A new    +1 -0 +"]
    assert home.ok(project, "keep", "new") == "kept the changes of 1 file; 1 file left to review\n"
    assert home.ok(project, "keep", "--session", "s1") == "kept the changes of 1 file; no files left to review\n"
    assert home.ok(project, "keep", "--all") == "nothing was kept; no files left to review\n"
    assert home.run(project, "review").err.startswith("snapd: nothing is pending")
    assert read(project, "f.txt") == LATER


def test_hunk_by_hunk(home: Home, project: str, steps: list[str]) -> None:
    terminal = Terminal(home, project, "keep", "-p", "--color=never", "f.txt")
    for asked, answer in enumerate((b"n\n", b"y\n"), start=1):
        terminal.wait_for(b"keep this hunk [y,n,q,a,d,?]? ", asked)
        terminal.type(answer)
    assert terminal.finish().code == 0
    assert b"f.txt  Claude Code, Codex" in terminal.seen
    assert home.ok(project, "review").splitlines()[0] == "M f.txt  +1 -1 +-"
    terminal = Terminal(home, project, "revert", "-p", "--color=never")
    for asked, answer in enumerate((b"y\n", b"q\n"), start=1):
        terminal.wait_for(b"revert this hunk [y,n,q,a,d,?]? ", asked)
        terminal.type(answer)
    assert terminal.finish().code == 0
    assert read(project, "f.txt") == numbered(30, l14=b"mine", l25=b"two")
    assert read(project, "new") == b"n\n"
    assert home.ok(project, "review").splitlines()[0] == "A new  +1 -0 +"
    # a revert is undone as any operation is
    home.ok(project, "undo", "--yes")
    assert read(project, "f.txt") == LATER


@pytest.mark.parametrize("verb", ["keep", "revert"])
def test_a_file_that_changes_meanwhile_is_shown_again(home: Home, project: str, steps: list[str], verb: str) -> None:
    words = [verb, "-p", "--color=never", *(["f.txt"] if verb == "keep" else [])]
    terminal = Terminal(home, project, *words)
    question = f"{verb} this hunk [y,n,q,a,d,?]? ".encode()
    terminal.wait_for(question)
    put(project, {"f.txt": numbered(30, l2=b"later", l14=b"mine", l25=b"two")})
    terminal.type(b"a\n")
    terminal.wait_for(question, 2)
    assert b"f.txt" in terminal.seen.split(question)[1]
    terminal.type(b"q\n")
    assert terminal.finish().code == (0 if verb == "keep" else 1)
    assert read(project, "f.txt") == numbered(30, l2=b"later", l14=b"mine", l25=b"two")
    assert home.ok(project, "review").splitlines()[1] == "A new    +1 -0 +"


def test_who_wrote_it(home: Home, project: str, steps: list[str]) -> None:
    lines = home.ok(project, "blame", "f.txt").splitlines()
    assert len(lines) == 30
    assert lines[0].split() == ["before", "1", "0"]
    assert lines[2].startswith(f"{steps[0][:SHORTEST]} Claude Code ")
    assert lines[14].startswith("you ")
    assert lines[14].endswith("15  mine")
    assert home.ok(project, "blame", "f.txt:26").startswith(f"{steps[1][:SHORTEST]} Codex ")
    before = home.ok(project, "blame", "f.txt:24-26", steps[1]).splitlines()
    assert [line.split() for line in before] == [["before", str(number + 1), str(number)] for number in (23, 24, 25)]
