"""`snapd snapshots`, and snapshots named by steps, beginnings and times."""

from __future__ import annotations

import os
import re
from datetime import timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from snapd.cli.commands.diff import snapshot_table
from snapd.cli.terminal.layout import columns
from snapd.cli.terminal.output import Painter
from snapd.cli.terminal.times import local_now
from snapd.sharing.sessions import SHORTEST
from tests.cli.steps import put, read, take

if TYPE_CHECKING:
    from tests.cli.running import Home


@pytest.fixture
def step(home: Home, project: str) -> str:
    """A step that wrote a file, which the user changed afterwards."""
    made = take(home, project, "s", {"a.txt": b"the agent's\n", "README.md": None}, "--agent", "ada")
    put(project, {"a.txt": b"the user's\n", "b.txt": b"b\n"})
    return made


def test_they_are_listed_with_their_reasons(home: Home, project: str, step: str) -> None:
    tree = home.track(project)
    home.ok(project, "undo", step, "--yes", "--on-conflict", "overwrite")
    # neither a snapshot before a change that was there already, nor a step that changed nothing, is news
    take(home, project, "s", {})
    lines = home.ok(project, "snapshots").splitlines()
    assert lines[0] == "today"
    rows = [re.sub("^  [0-9]{2}:[0-9]{2}  ", "", line) for line in lines[1:]]
    assert [" ".join(row.split()[1:]) for row in rows] == [
        "2 files after an undo by ada",
        "2 files requested",
        f"2 files after step {step[:SHORTEST]} by ada",
        f"the first before step {step[:SHORTEST]} by ada",
    ]
    assert rows[1].split()[0] == tree[:SHORTEST]
    assert home.ok(project, "snapshots", "-n", "0").splitlines() == lines
    # what is listed can be given to a command
    for row in rows:
        assert home.ok(project, "files", row.split()[0])


def test_pages_and_json(home: Home, project: str) -> None:
    trees = []
    for number in range(4):
        put(project, {"a.txt": b"%d\n" % number})
        trees.append(home.track(project))
    listed = home.run(project, "snapshots", "--json").json["snapshots"]
    assert [(taken["hash"], taken["kind"], taken.get("files")) for taken in listed] == [
        (trees[3], "track", 1), (trees[2], "track", 1), (trees[1], "track", 1), (trees[0], "track", None)
    ]  # fmt: skip
    assert home.run(project, "snapshots", "--json", "-n", "2").json["snapshots"] == listed[:2]
    some = home.ok(project, "snapshots", "-n", "3").splitlines()
    assert some[-1] == "… older: -n 6, or -n 0 for all"
    assert [line.split()[1] for line in some[1:-1]] == [tree[:SHORTEST] for tree in trees[:0:-1]]
    assert len(home.ok(project, "snapshots", "-n", "4").splitlines()) == 5
    wrong = home.run(project, "snapshots", "-n", "-1")
    assert (wrong.code, wrong.out) == (2, b"")


def test_none_yet(home: Home, project: str) -> None:
    result = home.run(project, "snapshots")
    assert (result.code, result.out) == (0, b"")
    assert result.err == "snapd: there are no snapshots of this folder yet; 'snapd track' takes one\n"
    assert home.run(project, "snapshots", "--json").json == {"snapshots": []}


@pytest.mark.parametrize("width", [40, 47, 60, 100])
def test_it_fits(cut_ids: None, width: int) -> None:
    now = local_now()
    kinds = ("track", "begin", "end", "before", "hunks", "look", "of a newer daemon")
    rows: list[dict[str, Any]] = [
        {
            "hash": f"{at}" * 40,
            "at": (now - timedelta(hours=at * 13)).isoformat(),
            "kind": kind,
            "files": 10**at,
            "stepId": "0123456789abcdef",
            "agent": "an agent\033[31m with a 漢字漢字漢字漢字漢字漢字漢字漢字 name",
        }
        for at, kind in enumerate(kinds)
    ]
    shown = snapshot_table(rows, Painter(SimpleNamespace(color="never")), width, now)  # type: ignore[arg-type]
    assert "\033" not in shown
    assert max(map(columns, shown.splitlines())) <= width
    assert "after step 01234567" in shown
    assert shown.splitlines()[0] == "today"


def test_a_step_is_the_snapshot_before_it(home: Home, project: str, step: str) -> None:
    after = {"src/main.py": b"print(1)\nprint(2)\n", "a.txt": b"the agent's\n", "b.txt": None, "README.md": None}
    before = {**after, "a.txt": None, "README.md": b"# read\n"}
    # what the step changed, and not what the user did since
    assert home.ok(project, "patch", step).splitlines()[-1] == "2 files changed, +1 -1"
    assert "the user" not in home.ok(project, "diff", step[:SHORTEST])
    assert home.ok(project, "diff", step, f"{step}+") == home.ok(project, "diff", step)
    assert "-the agent's\n+the user's" in home.ok(project, "diff", f"{step[:SHORTEST]}+")
    assert home.run(project, "show", f"README.md@{step}").out == b"# read\n"
    assert home.run(project, "show", f"a.txt@{step}+").out == b"the agent's\n"
    assert home.ok(project, "files", f"{step}+", "a") == "a.txt\n"
    home.ok(project, "revert", step[:SHORTEST], "README.md", "--yes")
    assert (read(project, "README.md"), read(project, "a.txt")) == (b"# read\n", b"the user's\n")
    for word, state in ((f"{step}+", after), (step, before)):
        home.ok(project, "restore", word, "--yes")
        assert {name: read(project, name) for name in state} == state


def test_an_open_step_is_compared_with_the_files(home: Home, project: str) -> None:
    step = home.ok(project, "step", "begin").strip()
    put(project, {"a.txt": b"not yet\n"})
    assert "+not yet" in home.ok(project, "diff", step)
    result = home.run(project, "restore", f"{step}+", "--yes")
    assert result.code == 2
    assert "still open" in result.err
    home.ok(project, "step", "end", step)


def test_a_time(home: Home, project: str) -> None:
    tree = home.track(project)
    put(project, {"src/main.py": b"new\n"})
    result = home.run(project, "show", "src/main.py@@0s")
    assert (result.code, result.out) == (0, b"print(1)\nprint(2)\n")
    assert result.err.startswith(f"snapd: @0s is the snapshot {tree[:SHORTEST]} from ")
    assert home.run(project, "diff", "@0s").out == home.run(project, "diff", tree).out
    result = home.run(project, "restore", "@2000-01-01", "--yes")
    assert (result.code, result.out) == (1, b"")
    nothing = "snapd: there is no snapshot from 1 Jan 2000 23:59 or before"
    oldest, *_ = home.run(project, "snapshots", "--json", "-n", "0").json["snapshots"][::-1]
    named = f"the snapshot {oldest['hash'][:SHORTEST]}"
    assert result.err.startswith(f"{nothing}\nhint: the oldest is {named}")
    # to look, it will do
    compared = home.run(project, "diff", "@2000-01-01")
    assert compared.out == home.run(project, "diff", oldest["hash"]).out
    assert compared.err.startswith(f"{nothing}; using the oldest, {named}")
    assert read(project, "src/main.py") == b"new\n"


def test_a_beginning_of_a_hash(home: Home, project: str) -> None:
    tree = home.track(project)
    os.remove(os.path.join(project, "README.md"))
    home.ok(project, "restore", tree[:6], "--yes")
    assert read(project, "README.md") == b"# read\n"
    result = home.run(project, "restore", "0123456", "--yes")
    assert (result.code, result.out) == (1, b"")
    assert result.err.splitlines() == [
        "snapd: no step or snapshot of this folder begins with '0123456'",
        "hint: 'snapd snapshots' lists the snapshots, 'snapd log' the steps",
    ]
