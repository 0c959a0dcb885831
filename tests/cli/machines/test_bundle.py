"""`bundle` and `unbundle`: words, plans, questions and answers, with a file between two machines."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.cli.running import Home, Terminal
from tests.cli.steps import numbered, put, take
from tests.support.git import run_git


@pytest.fixture
def there() -> Iterator[Home]:
    """Another machine."""
    other = Home()
    yield other
    other.close()


@pytest.fixture
def step(home: Home, project: str) -> str:
    """A step of claude in a folder without git."""
    put(project, {"f.txt": numbered(20)})
    changed = {"f.txt": numbered(20, l2=b"one"), ".env": b"x\n"}
    return take(home, project, "claude", changed, "--agent", "claude")


def test_from_one_machine_to_the_other(home: Home, there: Home, project: str, step: str) -> None:
    told = home.ok(project, "bundle", "../s.bundle", "claude", "--dry-run").splitlines()
    assert told[0].startswith("1 session to ../s.bundle: ")
    assert told[2] == "Only you can read the file; anyone you give it to can read all of it."
    assert " ".join(told[4].split()) == "2 bytes .env may hold a secret"
    path = home.at("s.bundle")
    assert not os.path.exists(path)
    no = Terminal(home, project, "bundle", path, "--all").answer(b"n\n")
    assert (no.code, "nothing was changed" in no.err, os.path.exists(path)) == (1, True, False)
    yes = Terminal(home, project, "bundle", "../s.bundle", "--all", "--exclude", ".env").answer(b"y\n")
    assert (yes.code, "may hold a secret" in yes.err) == (0, False)
    folder = there.project("clone", {"f.txt": numbered(20, l18=b"mine")})
    run_git(folder, "init", "-q")
    host = os.uname().nodename
    assert there.ok(folder, "unbundle", os.path.relpath(path, folder)) == f"claude Claude Code: 1 step, from {host}\n"
    assert there.ok(folder, "unbundle", path) == "nothing new in it\n"
    assert there.run(folder, "sessions", "--json").json["sessions"][0]["origin"]["remote"] == path
    there.ok(folder, "apply", step[:8], "--yes")
    assert set(os.listdir(folder)) == {".git", "f.txt"}


def test_what_goes_wrong(home: Home, project: str, step: str) -> None:
    del step
    taken = home.at("taken")
    put(home.path, {"taken": b"mine\n"})
    for words, code, kind in (
        (["bundle", taken, "--all", "--yes"], 2, "invalidParams"),
        (["bundle", taken, "--all", "--dry-run"], 2, "invalidParams"),
        (["bundle", home.at("no/s.bundle"), "--all", "--yes"], 2, "invalidParams"),
        (["bundle", "s.bundle", "--all"], 2, "invalidParams"),
        (["bundle", "s.bundle", "--yes"], 2, "invalidParams"),
        (["bundle", "s.bundle", "claude", "--all", "--yes"], 2, "invalidParams"),
        (["bundle", "s.bundle", "nobody", "--yes"], 1, "unknownSession"),
        (["unbundle", home.at("nothing")], 2, "invalidParams"),
        (["unbundle", project], 2, "invalidParams"),
        (["unbundle", taken], 1, "untrusted"),
    ):
        done = home.run(project, *words, "--json")
        assert (done.code, done.json["error"]["kind"]) == (code, kind), words
        assert done.json["error"]["hint"]
    assert not os.path.exists(os.path.join(project, "s.bundle"))
