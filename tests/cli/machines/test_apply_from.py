"""`snapd apply --from`: steps of another work tree, through the daemon and without one."""

from __future__ import annotations

import os

import pytest

from snapd.sharing.sessions import SHORTEST
from tests.cli.running import Home
from tests.cli.steps import numbered, put, read, take
from tests.support.git import run_git


@pytest.fixture
def tree(project: str) -> str:
    """Another work tree of a project."""
    put(project, {"f.txt": numbered(20), "dir/x.txt": b"x\n"})
    run_git(project, "init", "-q")
    run_git(project, "add", "--all")
    run_git(project, "commit", "-q", "-m", "1")
    path = f"{project}-tree"
    run_git(project, "worktree", "add", "-q", "--detach", path)
    return path


@pytest.mark.parametrize("alone", [[], ["--no-daemon"]], ids=["daemon", "alone"])
def test_the_best_of_each(home: Home, project: str, tree: str, alone: list[str]) -> None:
    step = take(home, tree, "claude", {"f.txt": numbered(20, l2=b"one")}, "--agent", "claude")
    take(home, tree, "claude", {"f.txt": numbered(20, l2=b"one", l9=b"two")})
    if alone:
        home.ok(project, "stop")
    put(project, {"f.txt": numbered(20, l18=b"mine")})
    source = os.path.relpath(os.path.join(tree, "dir"), project)
    expected_outcomes = home.ok(project, "apply", "--from", source, step[:SHORTEST], "--dry-run", *alone).splitlines()
    assert expected_outcomes[0].split() == ["would", "merge", "f.txt"]
    applied = home.ok(project, "apply", "--from", source, step[:SHORTEST], "--yes", *alone).splitlines()
    assert (applied[0].split(), applied[1]) == (["merged", "f.txt"], "'snapd undo' takes that back")
    assert read(project, "f.txt") == numbered(20, l2=b"one", l18=b"mine")
    assert f"Apply claude from {tree}" in home.ok(project, "log", *alone)
    home.ok(project, "undo", "--yes", *alone)
    assert read(project, "f.txt") == numbered(20, l18=b"mine")
    home.ok(project, "apply", "--from", tree, "claude", "--yes", *alone)
    assert read(project, "f.txt") == numbered(20, l2=b"one", l9=b"two", l18=b"mine")
    assert read(tree, "f.txt") == numbered(20, l2=b"one", l9=b"two")


def test_what_goes_wrong(home: Home, project: str, tree: str) -> None:
    step = take(home, tree, "claude", {"f.txt": numbered(20, l2=b"one")})
    mine = take(home, project, "codex", {"dir/x.txt": b"y\n"})
    empty = home.at("empty")
    os.mkdir(empty)
    for words, code, kind in (
        (["apply", "--from", empty, step], 2, "invalidParams"),
        (["apply", "--from", home.at("nothing"), step], 2, "invalidParams"),
        (["apply", "--from", project, mine], 2, "invalidParams"),
        (["apply", "--from", tree, "codex"], 1, "unknownSession"),
        (["apply", "--from", tree, mine], 1, "unknownSession"),
        (["apply", step], 1, "unknownSession"),
    ):
        done = home.run(project, *words, "--yes", "--json")
        assert (done.code, done.json["error"]["kind"]) == (code, kind), words
        assert done.json["error"]["hint"]
    # nothing was made there to find that out
    known = {line.split()[-1] for line in home.ok(project, "du", "--all").splitlines()}
    assert not any("empty" in name for name in known)
