"""`snapd blame` where notes of git-ai say who wrote lines from before."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from snapd.sharing.sessions import SHORTEST
from tests.cli.steps import numbered, put, take
from tests.notes.noting import KEY, PERSON, PERSON_KEY, note
from tests.support.git import run_git

if TYPE_CHECKING:
    from tests.cli.running import Home


@pytest.fixture
def commit(project: str) -> str:
    """A commit, with a note about some lines of its file."""
    put(project, {"f.txt": numbered(6)})
    run_git(project, "init", "--quiet")
    run_git(project, "add", ".")
    run_git(project, "commit", "--quiet", "--message", "one")
    attach(project, note(f"f.txt\n  {KEY} 2-3\n  {PERSON_KEY} 5\n"))
    return run_git(project, "rev-parse", "HEAD").decode().strip()


def attach(project: str, data: bytes) -> None:
    run_git(project, "notes", "--ref=ai", "add", "--force", "-F", "-", input=data)


def test_who_wrote_lines_of_commits(home: Home, project: str, commit: str) -> None:
    home.ok(project, "track")
    step = take(home, project, "s", {"f.txt": numbered(6, l2=b"new")}, "--agent", "codex")
    table = [(line[:24].rstrip(), line.split("  ")[-1]) for line in home.ok(project, "blame", "f.txt").splitlines()]
    assert table == [
        (f"git {commit[:8]} Author", "0"),
        (f"git {commit[:8]} Claude Code", "1"),
        (f"{step[:SHORTEST]} Codex", "new"),
        (f"git {commit[:8]} Author", "3"),
        (f"git {commit[:8]} Some Body", "4"),
        (f"git {commit[:8]} Author", "5"),
    ]
    (line,) = home.ok(project, "blame", "f.txt:2").splitlines()
    assert "now" in line or "ago" in line
    (run,) = json.loads(home.ok(project, "blame", "--json", "f.txt:5"))["lines"]
    assert run == {
        "start": 5,
        "count": 1,
        "author": "before",
        "commit": {**run["commit"], "id": commit, "author": "Author"},
        "noted": {"commit": commit, "at": run["noted"]["at"], "person": PERSON},
    }


def test_a_note_that_cannot_be_read(home: Home, project: str, commit: str) -> None:
    attach(project, note("", schema_version="authorship/9\x1b[2J"))
    result = home.run(project, "blame", "f.txt")
    assert result.code == 0
    assert [line.split()[0] for line in result.out.decode().splitlines()] == ["git"] * 6
    reason = "its note is of the version 'authorship/9\\x1b[2J'; snapd reads authorship/3.0.0"
    assert result.err == f"snapd: {commit[:8]}: {reason}\n"
    answer = json.loads(home.ok(project, "blame", "--json", "f.txt"))
    assert answer["noteProblems"] == [{"commit": commit, "reason": reason}]


def test_names_that_would_play_tricks(home: Home, project: str, commit: str) -> None:
    agent = {"agent_id": {"tool": "cl\x1b[2J\nau\u202ede", "id": "x", "model": "unknown"}}
    attach(project, note(f"f.txt\n  {KEY} 1\n", sessions={KEY.split("::")[0]: agent}))
    line = home.ok(project, "blame", "f.txt:1")
    assert line.startswith(f"git {commit[:8]} cl")
    assert line.count("\n") == 1
    assert line[:-1].isprintable()
