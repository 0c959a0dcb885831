"""`step`, `sessions`, `log` and `show STEP` with a daemon behind them."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest

from snapd.sharing.sessions import SHORTEST
from tests.cli.steps import numbered, put, read, take
from tests.support.git import run_git

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.running import Home

STEP = re.compile(r"[0-9a-f]{32}\n")


def shape(log: str) -> list[str]:
    """A log without what differs each time: times and names that are made."""
    lines = [re.sub(r"^\d\d:\d\d", "hh:mm", line) for line in log.splitlines()]
    return [re.sub(r"\b[0-9a-f]{6,8}\b(?:  (?=  ))?", "########", line) for line in lines]


def test_a_step_by_hand(home: Home, project: str) -> None:
    out = home.ok(project, "step", "begin", "--session", "claude", "--agent", "claude", "--tool", "Edit")
    assert STEP.fullmatch(out)
    put(project, {"new.txt": b"1\n2\n", "README.md": None})
    assert home.ok(project, "step", "end", out.strip()).splitlines() == [
        "D README.md  +0 -1 -",
        "A new.txt    +2 -0 ++",
        "2 files changed, +2 -1",
    ]
    # once more: as it is
    put(project, {"later.txt": b""})
    assert "2 files changed" in home.ok(project, "step", "end", out[:9])


def test_sessions_are_started_by_need(home: Home, project: str) -> None:
    first = home.run(project, "step", "begin", "--json", "--agent", "a", "--description", "d", "--message", "m").json
    assert set(first) == {"sessionId", "stepId", "hash"}
    again = home.run(project, "step", "begin", "--json", "--session", first["sessionId"][:SHORTEST], "--part", "p").json
    assert again["sessionId"] == first["sessionId"]
    # the beginning of another name is a name of its own
    named = [home.run(project, "step", "begin", "--json", "--session", name).json for name in ("claude-2", "claude")]
    assert [step["sessionId"] for step in named] == ["claude-2", "claude"]
    found = home.run(project, "sessions", "--json").json["sessions"]
    assert [(session["sessionId"], session["stepCount"]) for session in found] == [
        (first["sessionId"], 2),
        ("claude-2", 1),
        ("claude", 1),
    ]
    assert [session.get("agent") for session in found] == ["a", None, None]


def test_a_step_in_this_process(home: Home, project: str) -> None:
    env = {"SNAPD_DATA_DIR": home.at("alone-steps")}
    step = home.ok(project, "step", "begin", "--no-daemon", "--session", "s", env=env).strip()
    put(project, {"new.txt": b"1\n"})
    assert "1 file changed" in home.ok(project, "step", "end", "--no-daemon", step, env=env)
    assert "new.txt" in home.ok(project, "log", "--no-daemon", env=env)
    assert home.run(project, "undo", "--no-daemon", "--yes", env=env).code == 0
    assert not os.path.exists(os.path.join(project, "new.txt"))


def test_what_overlaps_is_told_apart_by_files(home: Home, project: str) -> None:
    one, two = (home.ok(project, "step", "begin", "--session", name).strip() for name in ("one", "two"))
    put(project, {"src/a": b"a\n", "src/b": b"b\n"})
    shown = home.ok(os.path.join(project, "src"), "-C", "..", "step", "end", one, "--file", "src/a")
    assert "src/a" in shown
    assert "src/b" not in shown
    assert "src/a" not in home.ok(project, "step", "end", two, "--file", "src/b")


def test_log(home: Home, project: str) -> None:
    empty = home.run(project, "log")
    assert (empty.code, empty.out, empty.err) == (0, b"", "snapd: nothing has happened in this folder yet\n")
    first = take(home, project, "claude", {"a.txt": b"a\n"}, "--agent", "claude", "--tool", "Edit")
    put(project, {"mine.txt": b"x\n"})
    take(home, project, "codex", {"b.txt": b"b\n"}, "--description", "make\nfmt")
    home.ok(project, "undo", "--yes", first)
    # nobody misses it
    take(home, project, "codex", {})
    assert shape(home.ok(project, "log")) == [
        "       ┊      today",
        "       ┊ ╭    Claude Code  open",
        "hh:mm  ┊ ◆    undo      ######## Edit",
        "       ┊ │              D a.txt  +0 -1",
        "       ┊ │ ╭  session  codex  open",
        "hh:mm  ┊ │ ●  ########  make fmt",
        "       ┊ │ │            A b.txt  +1 -0",
        "       ├─┼─╯",
        "hh:mm  ◦ │    you",
        "       ┊ │              A mine.txt  +1 -0",
        "hh:mm  ┊ ○    ########  Edit  undone",
        "       ┊ │              A a.txt  +1 -0",
        "       ├─╯",
    ]
    kinds = [entry["kind"] for entry in home.run(project, "log", "--json").json["entries"]]
    assert kinds == ["undo", "step", "user", "step"]


def test_log_in_part(home: Home, project: str) -> None:
    for number in range(5):
        take(home, project, f"s{number % 2}", {"a.txt": b"%d\n" % number}, "--description", f"work-{number}")
        # such as nobody misses: pages are of what is shown
        take(home, project, "s0", {})
    assert re.findall(r"work-\d", home.ok(project, "log", "-n", "2")) == ["work-4", "work-3"]
    assert home.ok(project, "log", "-n", "2").splitlines()[-1] == "       … older: -n 4, or -n 0 for all"
    for args in (("-n", "0"), ("-n", "5"), ()):
        assert re.findall(r"work-\d|older", home.ok(project, "log", *args)) == [
            "work-4",
            "work-3",
            "work-2",
            "work-1",
            "work-0",
        ]
    assert re.findall(r"work-\d", home.ok(project, "log", "--session", "s1")) == ["work-3", "work-1"]
    assert re.findall(r"work-\d", home.ok(project, "log", "--session", "s0", "-n", "1")) == ["work-4"]
    assert home.run(project, "log", "-n", "-1").code == 2


def test_sessions(home: Home, project: str) -> None:
    empty = home.run(project, "sessions")
    assert (empty.code, empty.out, empty.err) == (0, b"", "snapd: there are no sessions in this folder yet\n")
    step = take(home, project, "claude", {"a": b"a\n"}, "--agent", "claude")
    take(home, project, "codex", {"b": b"b\n"})
    home.ok(project, "undo", "-y", step)
    lines = home.ok(project, "sessions").splitlines()
    assert [re.sub(r"now|\d+ \w+ ago", "", line).split() for line in lines] == [
        ["session", "agent", "name", "started", "steps", "undo", "redo"],
        ["codex", "1", "1", "0", "open"],
        ["claude", "Claude", "Code", "1", "0", "1", "open"],
    ]


def test_git_applies_what_show_says(home: Home, project: str, tmp_path: Path) -> None:
    before = {
        "f.txt": numbered(30),
        "old name.txt": numbered(20),
        "gone.txt": b"1\n2",
        "run.sh": b"x\n",
        "é": b"\xe9\n",
    }
    put(project, before)
    run_git(tmp_path, "init", "-q", ".")
    step = home.ok(project, "step", "begin", "--session", "s", "--tool", "Edit", "--description", "all").strip()
    changed = numbered(30, l2=b"two", l25=b"late\r")
    moved = numbered(20, l3=b"three")
    put(project, {"f.txt": changed, "gone.txt": None, "new": b"", "old name.txt": None, "a/b": moved, "é": b"\xe8\n"})
    os.chmod(os.path.join(project, "run.sh"), 0o755)
    home.ok(project, "step", "end", step)
    # what others did since, and in the same file, is not the step's
    put(project, {"f.txt": numbered(30, l2=b"two", l15=b"mine", l25=b"late\r"), "theirs": b""})
    for state in ("applied", "undone"):
        if state == "undone":
            assert home.run(project, "undo", "-y", step).code == 0
        shown = home.run(project, "show", step[:10])
        copy = str(tmp_path / state)
        put(copy, before)
        run_git(tmp_path, "apply", f"--directory={state}", "--whitespace=nowarn", "-", input=shown.out)
        wanted = {"f.txt": changed, "gone.txt": None, "new": b"", "old name.txt": None, "a/b": moved, "é": b"\xe8\n"}
        assert {name: read(copy, name) for name in wanted} == wanted
        assert os.access(os.path.join(copy, "run.sh"), os.X_OK)
        text = shown.out.decode("utf-8", "surrogateescape")
        assert f"state     {state}\n" in text
        assert "R old name.txt → a/b  +1 -1 " in text
        assert "rename from old name.txt\nrename to a/b\n" in text
    assert "tool      Edit\nabout     all\n" in text
    told = home.run(project, "show", step, "--json").json
    assert [row["file"] for row in told["step"]["files"]] == ["a/b", "f.txt", "gone.txt", "new", "run.sh", "é"]
    assert told["diff"].count("diff --git ") == 6


def test_show_a_step_with_parts(home: Home, project: str) -> None:
    outer = home.ok(project, "step", "begin", "--session", "s", "--tool", "Task").strip()
    put(project, {"outer.txt": b"o\n"})
    inner = home.ok(project, "step", "begin", "--session", "sub", "--parent", outer[:12], "--tool", "Write").strip()
    put(project, {"inner.txt": b"i\n"})
    home.ok(project, "step", "end", inner)
    home.ok(project, "step", "end", outer)
    shown = home.ok(project, "show", outer)
    assert (
        shown.index(f"part      {inner[:SHORTEST]} Write")
        < shown.index("+++ b/inner.txt")
        < shown.index("+++ b/outer.txt")
    )
    assert shown.count("+i\n") == shown.count("+o\n") == 1
    alone = home.ok(project, "show", inner)
    assert "+++ b/inner.txt" in alone
    assert "outer.txt" not in alone
    assert f"part of   {outer}" in home.ok(project, "show", inner)
    assert f"part of {outer[:SHORTEST]}" in home.ok(project, "log")


def test_names_that_are_not_utf8(home: Home, project: str) -> None:
    step = home.ok(project, "step", "begin", "--session", "s").strip()
    with open(os.path.join(os.fsencode(project), b"\xff\033"), "wb") as file:
        file.write(b"1\n")
    home.ok(project, "step", "end", step)
    for command in (("show", step), ("log",)):
        shown = home.ok(project, *command)
        assert "\ufffd\\x1b" in shown
        assert "\033" not in shown
    assert "+1\n" in home.ok(project, "show", step)


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("show", "fedcba98"), 1, "no step 'fedcba98' in this folder"),
        (("show", "README.md"), 2, "expected a step, the beginning of its id or 'last', got 'README.md'"),
        (("step", "end", "fedcba98"), 1, "no step 'fedcba98' in this folder"),
        (("step", "end", "f" * 16), 1, "no step"),
        (("step", "begin", "--parent", "fedcba98"), 1, "no step 'fedcba98' in this folder"),
        (("log", "--session", "nobody"), 1, "no session 'nobody' in this folder"),
        (("undo", "--session", "nobody"), 1, "no session 'nobody' in this folder"),
        (("undo",), 1, "there is nothing to undo"),
        (("undo", "--count", "2", "abc"), 2, "--count: cannot be used with a step"),
        (("revert-hunk", "fedcba98", "f"), 1, "no step 'fedcba98' in this folder"),
    ],
)
def test_refusals(home: Home, project: str, args: tuple[str, ...], code: int, said: str) -> None:
    result = home.run(project, *args)
    assert (result.code, result.out) == (code, b""), result
    assert result.err.startswith("snapd: ")
    assert said in result.err
    assert [line.partition(" ")[0] for line in result.err.splitlines()] == ["snapd:", "hint:"]


@pytest.mark.parametrize(
    "args", [("step",), ("undo", "--count", "0"), ("revert-hunk", "abc", "f", "0"), ("log", "-n", "x")]
)
def test_wrong_usage(home: Home, project: str, args: tuple[str, ...]) -> None:
    result = home.run(project, *args)
    assert (result.code, result.out) == (2, b"")
    assert result.err.startswith("usage: snapd")


def test_a_step_in_place_of_a_file(home: Home, project: str) -> None:
    step = take(home, project, "s", {"new.txt": b"n\n"})
    done = home.run(project, "log", step[:SHORTEST])
    assert (done.code, done.out) == (0, b"")
    assert done.err.splitlines()[1] == f"hint: {step[:SHORTEST]} is a step: 'snapd show {step[:SHORTEST]}'"
    # a file of this name is meant, which nothing has changed yet
    put(project, {".gitignore": f"{step[:SHORTEST]}\n".encode(), step[:SHORTEST]: b"ignored"})
    assert "hint" not in home.run(project, "log", step[:SHORTEST]).err
