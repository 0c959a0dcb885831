"""`stage`: words, answers, and messages about conflicts; what it does to the index is tested in tests/staging."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from snapd.sharing.sessions import SHORTEST
from tests.cli.looking.test_turns import turn
from tests.cli.steps import numbered, put, take
from tests.support.git import run_git

if TYPE_CHECKING:
    from tests.cli.running import Home

TWENTY = numbered(20)


@pytest.fixture
def steps(home: Home, project: str) -> list[str]:
    """Two steps of claude with one of codex and a line of the user's between, in a project in git."""
    put(project, {"f.txt": TWENTY, "sub/old.txt": TWENTY})
    run_git(project, "init", "-q")
    run_git(project, "add", "--all")
    run_git(project, "commit", "-q", "-m", "1")
    first = take(home, project, "claude", {"f.txt": numbered(20, l2=b"one"), "new.txt": b"n\n"}, "--agent", "claude")
    put(project, {"f.txt": numbered(20, l2=b"one", l8=b"user")})
    other = take(home, project, "codex", {"f.txt": numbered(20, l2=b"one", l8=b"user", l12=b"codex")})
    moved = {"f.txt": numbered(20, l2=b"one", l8=b"user", l12=b"codex", l17=b"two"), "sub/old.txt": None}
    last = take(home, project, "claude", {**moved, "sub/moved.txt": TWENTY}, "--description", "Move it")
    return [first, other, last]


def staged(project: str) -> list[str]:
    return run_git(project, "diff", "--cached", "--name-status").decode().splitlines()


def failed(home: Home, cwd: str, *words: str) -> dict[str, Any]:
    """The error that a command prints as JSON."""
    done = home.run(cwd, *words, "--json")
    assert done.code != 0
    error: dict[str, Any] = done.json["error"]
    assert error["hint"]
    return {**error, "code": done.code}


def test_a_session(home: Home, project: str, steps: list[str]) -> None:
    told = home.ok(project, "stage", "cla", "--dry-run").splitlines()
    lines = [
        "M f.txt                        +2 -2 ++--",
        "A new.txt                      +1 -0 +",
        "R sub/old.txt → sub/moved.txt  +0 -0",
        "3 files changed, +3 -2",
    ]
    assert (told, staged(project)) == (lines, [])
    assert home.ok(project, "stage", "cla").splitlines() == [
        *lines,
        'git commit -e -m "$(snapd stage cla --message)"',
        "'git restore --staged FILE' takes a file back out of the index",
    ]
    assert staged(project) == ["M\tf.txt", "A\tnew.txt", "R100\tsub/old.txt\tsub/moved.txt"]
    assert run_git(project, "show", ":f.txt") == numbered(20, l2=b"one", l17=b"two")
    assert home.ok(project, "stage", "cla") == "snapd: the index has all of it already\n"
    # the message is that of the commit to come, whatever was staged before
    done = home.run(project, "stage", "cla", "--message")
    assert (done.text, done.err) == ("Move it\n", "snapd: the index has all of it already\n")
    told = home.ok(project, "stage", "codex").splitlines()
    assert told[2] == "3 other files have changes in the index already: the commit has these, too"
    run_git(project, "commit", "-q", "-m", "2")
    assert home.ok(project, "stage", "cla") == "snapd: these steps have nothing to stage\n"


def test_steps_and_files(home: Home, project: str, steps: list[str]) -> None:
    answer = home.run(project, "stage", steps[0][:10], "last", "--json").json
    assert [row["file"] for row in answer["files"]] == ["f.txt", "new.txt", "sub/moved.txt"]
    assert answer["files"][2] == {
        "file": "sub/moved.txt", "status": "modified", "additions": 0, "deletions": 0, "binary": False,
        "renamedFrom": "sub/old.txt",
    }  # fmt: skip
    assert {name: answer[name] for name in ("applied", "left", "alreadyStaged", "openSteps", "message")} == {
        "applied": True, "left": [], "alreadyStaged": 0, "openSteps": [], "message": "Move it",
    }  # fmt: skip
    assert answer["repository"] == os.path.realpath(project)
    run_git(project, "reset", "-q")
    # from a folder in it, by either name of what was moved
    below = os.path.join(project, "sub")
    assert home.run(below, "stage", "claude", "--file", "old.txt").code == 0
    assert staged(project) == ["R100\tsub/old.txt\tsub/moved.txt"]
    run_git(project, "reset", "-q")
    os.symlink(project, project + "-link")
    home.ok(home.path, "stage", "claude", "-C", project + "-link", "--file", "new.txt")
    assert staged(project) == ["A\tnew.txt"]
    assert failed(home, project, "stage", "claude", "--file", "README.md")["kind"] == "invalidParams"


def test_the_message_has_the_prompts(home: Home, project: str, steps: list[str]) -> None:
    turn(home, project, "m1", "# add a\nfast one", "fast.py", b"1\n")
    turn(home, project, "m2", "make it \x1b[31mred", "red.py", b"2\n")
    turn(home, project, "m3", "and undo that", "undone.py", b"3\n")
    home.ok(project, "undo", "-y", "--message", "m3")
    session = home.run(project, "sessions", "--json").json["sessions"][-1]["sessionId"]
    asked = "add a fast one\n\n- add a fast one\n- make it [31mred\n"
    assert home.run(project, "stage", session, "--message", "-n").text == asked
    home.ok(project, "stage", session, "--file", "fast.py")
    run_git(project, "commit", "-q", "-m", "2")
    done = home.run(project, "stage", session, "--message")
    assert (done.code, done.text, done.err.splitlines()[0]) == (0, "make it [31mred\n", "A red.py  +1 -0 +")


def test_steps_that_are_open(home: Home, project: str, steps: list[str]) -> None:
    put(project, {"a.txt": b"1\n"})
    begun = home.ok(project, "step", "begin", "--session", "third", "--agent", "bot", "--message", "m1").strip()
    put(project, {"a.txt": b"2\n"})
    assert home.run(project, "stage", "third", "--json").json["openSteps"] == [begun]
    told = home.ok(project, "stage", "third").splitlines()
    assert told == [
        "snapd: these steps have nothing to stage",
        "1 step is still open: what changes there is not staged",
    ]
    assert failed(home, project, "stage", begun)["kind"] == "invalidParams"
    put(project, {"b.txt": b"1\n"})
    home.ok(project, "step", "end", begun, "--file", "b.txt")
    assert home.run(project, "stage", "third", "-n", "--json").json["message"] == "Changes by bot"


def test_conflicts(home: Home, project: str, steps: list[str]) -> None:
    now = numbered(20, l2=b"one", l8=b"user", l12=b"codex", l17=b"two")
    put(project, {"f.txt": numbered(20, l2=b"mine"), "new.txt": b"mine\n"})
    run_git(project, "add", "f.txt", "new.txt")
    put(project, {"f.txt": now, "new.txt": b"n\n"})
    before = run_git(project, "ls-files", "-s")
    done = home.run(project, "stage", "claude")
    assert (done.code, done.text) == (1, "")
    assert done.err.splitlines() == [
        "conflict f.txt (the index has something else on these lines)",
        "conflict new.txt (the index has something else under this name)",
        "snapd: nothing was staged: 2 files are in conflict",
        "hint: stage the other files with --file, and these by hand: 'git add -p' helps",
    ]
    error = failed(home, project, "stage", "claude", "-n")
    assert (error["kind"], error["files"]) == (
        "stagingConflict",
        [{"file": "f.txt", "reason": "changedSince"}, {"file": "new.txt", "reason": "occupied"}],
    )
    assert run_git(project, "ls-files", "-s") == before
    assert home.run(project, "stage", "claude", "--file", "sub").code == 0


def test_what_is_shared(home: Home, project: str, steps: list[str]) -> None:
    one, two = (home.ok(project, "step", "begin", "--session", name).strip() for name in ("x1", "x2"))
    put(project, {"shared.txt": b"?\n"})
    for step in (one, two):
        home.ok(project, "step", "end", step)
    error = failed(home, project, "stage", "x1")
    assert error["files"] == [{"file": "shared.txt", "reason": "shared", "sharedWith": [two]}]
    assert error["hint"].endswith(two[:SHORTEST])
    assert home.run(project, "stage", "x1", two[:SHORTEST]).code == 0


def test_what_is_left_out(home: Home, project: str, steps: list[str]) -> None:
    take(home, project, "third", {"x.tmp": b"1\n", "y.txt": b"1\n"})
    put(project, {".gitignore": b"*.tmp\n"})
    done = home.run(project, "stage", "third")
    assert (done.code, staged(project)) == (3, ["A\ty.txt"])
    assert "left out x.tmp (git ignores it)" in done.text.splitlines()
    assert home.run(project, "stage", "third", "--json").json["left"] == [{"file": "x.tmp", "reason": "ignored"}]


@pytest.mark.parametrize(
    ("words", "code", "kind"),
    [
        (["nobody"], 1, "unknownSession"),
        ([""], 1, "unknownSession"),
        (["0123456789abcdef"], 1, "unknownSession"),
        (["c"], 2, "invalidParams"),
        (["claude", "-C", "/nowhere"], 1, "workspaceRefused"),
        ([], 2, "wrongUsage"),
    ],
)
def test_words_that_stand_for_nothing(
    home: Home, project: str, steps: list[str], words: list[str], code: int, kind: str
) -> None:
    error = failed(home, project, "stage", *words)
    assert (error["code"], error["kind"]) == (code, kind)


def test_git_does_not_go_along(home: Home, project: str, steps: list[str]) -> None:
    lock = os.path.join(project, ".git", "index.lock")
    with open(lock, "w"):
        assert failed(home, project, "stage", "claude")["kind"] == "indexLocked"
    os.remove(lock)
    run_git(project, "bisect", "start")
    error = failed(home, project, "stage", "claude")
    assert (error["kind"], error["operation"], error["code"]) == ("gitOperationUnderWay", "a bisect", 1)
    run_git(project, "bisect", "reset")
    # of another repository, as in a hook of it
    other = home.project("other", {"x": b"1\n"})
    run_git(other, "init", "-q")
    variables = {"GIT_DIR": os.path.join(other, ".git"), "GIT_INDEX_FILE": os.path.join(other, "index")}
    home.ok(project, "stage", "codex", env=variables)
    assert (staged(project), os.listdir(other)) == (["M\tf.txt"], [".git", "x"])


def test_a_folder_that_is_not_in_git(home: Home, project: str) -> None:
    take(home, project, "claude", {"a.txt": b"1\n"})
    error = failed(home, project, "stage", "claude")
    assert (error["kind"], error["code"]) == ("noGitRepository", 1)
