"""What `log` shows of the history: some files, one session, since when, with diffs, on one line each."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest

from snapd.sharing.sessions import SHORTEST
from tests.cli.steps import numbered, put, take
from tests.support.git import run_git

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.running import Home


def move(project: str, old: str, new: str) -> None:
    os.rename(os.path.join(project, old), os.path.join(project, new))


def test_the_log_of_a_file(home: Home, project: str) -> None:
    first = take(home, project, "claude", {"src/one.py": numbered(20), "other": b"1\n"})
    second = home.ok(project, "step", "begin", "--session", "claude").strip()
    move(project, "src/one.py", "src/two.py")
    home.ok(project, "step", "end", second)
    take(home, project, "codex", {"other": b"2\n"})
    put(project, {"src/two.py": numbered(20, l3=b"mine")})
    take(home, project, "codex", {"README.md": b"# more\n"})
    below = os.path.join(project, "src")
    for where, name in ((project, "src/two.py"), (below, "two.py"), (project, os.path.join(below, "two.py"))):
        shown = home.run(where, "log", name).text
        assert [line.split("●")[-1].split()[0] for line in shown.splitlines() if "●" in line] == [
            second[:SHORTEST],
            first[:SHORTEST],
        ]
        assert "R src/one.py → src/two.py  +0 -0" in shown
        assert "M src/two.py  +1 -1" in shown
        assert "other" not in shown
        assert "README" not in shown
    assert len(home.run(project, "log", "src", "README.md", "--json").json["entries"]) == 4
    told = home.run(project, "log", "src/two.py", "-n", "1", "--json").json["entries"]
    assert [(entry["kind"], [row["file"] for row in entry["files"]]) for entry in told] == [("user", ["src/two.py"])]
    empty = home.run(project, "log", "nowhere", "src/data.bin")
    assert (empty.code, empty.out) == (0, b"")
    assert empty.err == "snapd: nothing has changed nowhere or src/data.bin in this folder yet\n"
    assert "/etc/passwd is not in the workspace" in home.run(project, "log", "/etc/passwd").err


def test_the_diffs_of_the_log_are_whole(home: Home, project: str, tmp_path: Path) -> None:
    before = {"a.txt": numbered(20), "é x": b"caf\xe9\n", "kept": b"k\n"}
    put(project, before)
    take(home, project, "claude", {"a.txt": numbered(20, l3=b"three")}, "--agent", "claude", "--tool", "Edit")
    put(project, {"é x": b"th\xe9\n", "new": b""})
    step = home.ok(project, "step", "begin", "--session", "claude").strip()
    move(project, "a.txt", "b.txt")
    home.ok(project, "step", "end", step)
    home.ok(project, "undo", "-y", step)
    shown = home.run(project, "log", "-p").out
    # the latest first, so the oldest is the last to be cut off
    parts = re.split(rb"(?m)^(?=[0-9a-f]{6,8} +\d\d:\d\d)", shown)[1:]
    assert [part.decode("utf-8", "replace").splitlines()[0].split()[2:] for part in parts] == [
        ["Claude", "Code", "undo", step[:SHORTEST], "+0", "-0"],
        ["Claude", "Code", "a.txt", "→", "b.txt", "+0", "-0", "undone"],
        ["you", "2", "files", "+1", "-1"],
        ["Claude", "Code", "Edit", "+1", "-1"],
    ]
    run_git(tmp_path, "init", "-q")
    put(str(tmp_path), before)
    for part in reversed(parts):
        run_git(tmp_path, "apply", "--whitespace=nowarn", "-", input=part)
    assert (tmp_path / "a.txt").read_bytes() == numbered(20, l3=b"three")
    assert ((tmp_path / "é x").read_bytes(), (tmp_path / "new").read_bytes()) == (b"th\xe9\n", b"")
    assert not (tmp_path / "b.txt").exists()
    only = home.ok(project, "log", "-p", "b.txt")
    assert only.count("diff --git") == 3
    assert "new" not in only
    told = home.run(project, "log", "-p", "--json").json["entries"]
    assert [entry["diff"].count("diff --git") for entry in told] == [1, 1, 2, 1]


def test_one_line_each(home: Home, project: str) -> None:
    take(home, project, "claude", {"basket.py": numbered(9)}, "--agent", "claude")
    step = take(home, project, "claude", {"basket.py": numbered(9, l1=b"x")}, "--tool", "Edit", "--description", "a\nb")
    lines = home.ok(project, "log", "--oneline").splitlines()
    assert [re.sub(r"^[0-9a-f]{6,8} +\d\d:\d\d", "", line).strip() for line in lines] == [
        "Claude Code  Edit a b  +1 -1",
        "Claude Code  basket.py +9 -0",
    ]
    assert lines[0].startswith(step[:SHORTEST])
    assert "changed   basket.py +9 -0\n" in home.ok(project, "show", lines[1][:SHORTEST])


def test_since(home: Home, project: str) -> None:
    take(home, project, "claude", {"a": b"1\n"})
    for time in ("1h", "3d", "2020-01-01", "2020-01-01 10:00"):
        assert "A a  +1 -0" in home.ok(project, "log", "--since", time)
    assert home.run(project, "log", "--since", "2999-01-01").err == (
        "snapd: nothing has happened in this folder since 2999-01-01\n"
    )
    wrong = home.run(project, "log", "--since", "soon")
    assert (wrong.code, wrong.out) == (2, b"")
    assert wrong.err.startswith("snapd: --since: expected a time, got 'soon'\nhint: times are 2h, 90m")


def test_since_shows_all_of_it(home: Home, project: str) -> None:
    for number in range(14):
        take(home, project, "claude", {"a": b"%d\n" % number})
        put(project, {"a": b"%d mine\n" % number})
    for args, count in ((("--since", "1h"), 27), ((), 25), (("--since", "1h", "-n", "3"), 3)):
        assert len(home.run(project, "log", "--json", *args).json["entries"]) == count


@pytest.mark.parametrize("args", [("log", "-p"), ("show", "last"), ("patch", "last"), ("diff", "last")])
def test_nothing_to_show(home: Home, project: str, args: tuple[str, ...]) -> None:
    take(home, project, "s", {"README.md": b"# other\n"})
    assert home.run(project, *args).code == 0
