"""`handover` and `takeover`: words, plans, questions and answers, with a bare repository between two machines."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import Home, Terminal
from tests.cli.steps import numbered, put, read, take
from tests.support.git import run_git


@pytest.fixture
def remote(tmp_path: Path) -> str:
    path = str(tmp_path / "remote.git")
    os.mkdir(path)
    run_git(path, "init", "-q", "--bare", "--initial-branch=main", ".")
    return path


@pytest.fixture
def there() -> Iterator[Home]:
    """Another machine."""
    other = Home()
    yield other
    other.close()


@pytest.fixture
def step(home: Home, project: str, remote: str) -> str:
    """A step of claude in a project that is committed and pushed."""
    put(project, {"f.txt": numbered(20), ".gitignore": b"*.key\n"})
    run_git(project, "init", "-q", "--initial-branch=main")
    run_git(project, "add", "--all")
    run_git(project, "commit", "-q", "-m", "1")
    run_git(project, "remote", "add", "origin", remote)
    run_git(project, "push", "-q", "origin", "main")
    return take(home, project, "claude", {"f.txt": numbered(20, l2=b"one"), "n.txt": b"n\n"}, "--agent", "claude")


def test_from_one_machine_to_the_other(home: Home, there: Home, project: str, remote: str, step: str) -> None:
    put(project, {"a.key": b"a\n", "b.key": b"b\n"})
    told = home.ok(project, "handover", "origin", "--name", "work", "--include", "a.key", "--dry-run").splitlines()
    assert told[0].startswith(f"1 session to {remote} as work: ")
    assert [" ".join(line.split()[2:]) for line in told[4:7]] == ["a.key may hold a secret", "f.txt", "n.txt"]
    assert run_git(remote, "for-each-ref", "refs/snapd") == b""
    refused = home.run(project, "handover", "origin")
    assert (refused.code, "this would hand over 1 session" in refused.err) == (2, True)
    said = Terminal(home, project, "handover", "origin", "--name", "work", "--include", "a.key").answer(b"y\n")
    assert (said.code, "Hand over this?" in said.err) == (0, True)
    folder = there.at("clone")
    run_git(there.path, "clone", "-q", remote, folder)
    put(folder, {"f.txt": numbered(20, l18=b"mine")})
    plan = there.ok(folder, "takeover", "origin", "--dry-run")
    assert "f.txt" in plan
    assert not os.path.exists(os.path.join(folder, "n.txt"))
    done = there.ok(folder, "takeover", "origin", "--yes")
    host = os.uname().nodename
    assert f"took over work from {host}: 1 session goes on here" in done
    assert "'snapd restore " in done
    assert set(os.listdir(folder)) == {*os.listdir(project)} - {"b.key"}
    assert read(folder, "f.txt") == numbered(20, l2=b"one", l18=b"mine")
    there.ok(folder, "undo", step[:8], "--yes")
    assert read(folder, "f.txt") == numbered(20, l18=b"mine")
    home.ok(project, "fetch", "origin")
    assert f"taken over by {host}" in home.ok(project, "sessions")


def test_by_a_file_and_with_conflicts(
    tmp_path: Path, home: Home, there: Home, project: str, remote: str, step: str
) -> None:
    del step
    path = str(tmp_path / "h.bundle")
    home.ok(project, "handover", "--file", path, "--yes")
    folder = there.at("clone")
    run_git(there.path, "clone", "-q", remote, folder)
    put(folder, {"f.txt": b"quite another\n"})
    refused = there.run(folder, "takeover", "--file", path, "--on-conflict", "fail", "--yes")
    assert (refused.code, b"took over" in refused.out) == (3, False)
    assert not os.path.exists(os.path.join(folder, "n.txt"))
    assert read(folder, "f.txt") == b"quite another\n"
    done = there.run(folder, "takeover", "--file", path, "--on-conflict", "overwrite", "--yes")
    assert (done.code, b"cannot see that" in done.out) == (0, True)
    assert read(folder, "f.txt") == numbered(20, l2=b"one")


def test_what_goes_wrong(home: Home, project: str, remote: str, step: str) -> None:
    del step, remote
    for words, code, kind in (
        (["handover", "--yes"], 2, "invalidParams"),
        (["handover", "origin", "--file", "x", "--yes"], 2, "invalidParams"),
        (["handover", "origin", "--name", "a b", "--yes"], 2, "invalidParams"),
        (["handover", "origin", "--include", "/etc/passwd", "--yes"], 1, "pathOutsideWorkspace"),
        (["takeover", "origin", "--yes"], 2, "invalidParams"),
        (["takeover", "--file", home.at("nothing"), "--yes"], 2, "invalidParams"),
        (["takeover", home.at("nowhere.git"), "--yes"], 1, "remoteFailed"),
    ):
        done = home.run(project, *words, "--json")
        assert (done.code, done.json["error"]["kind"]) == (code, kind), words
        assert done.json["error"]["hint"]
