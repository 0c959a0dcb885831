"""`log --format`: who wrote the lines of commits, for other tools; tests/authorship has the formats themselves."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.authorship.notes import parse
from tests.authorship.test_formats import check_record
from tests.cli.steps import numbered, put, take
from tests.support.git import run_git

if TYPE_CHECKING:
    from tests.cli.running import Home


@pytest.fixture
def committed(home: Home, project: str) -> list[str]:
    """Three commits: the project, what two agents and the user did, and the user's own; gives their hashes."""
    put(project, {"f.txt": numbered(20)})
    run_git(project, "init", "-q")
    commit(project)
    take(home, project, "first", {"f.txt": numbered(20, l2=b"one"), "new.txt": b"n\n"}, "--agent", "claude")
    put(project, {"f.txt": numbered(20, l2=b"one", l8=b"user")})
    take(home, project, "second", {"f.txt": numbered(20, l2=b"one", l8=b"user", l12=b"two", l13=b"two")})
    commit(project)
    put(project, {"f.txt": numbered(20, l2=b"mine", l8=b"user", l12=b"two", l13=b"two")})
    commit(project)
    return run_git(project, "rev-list", "--reverse", "HEAD").decode().split()


def commit(project: str) -> None:
    run_git(project, "add", "--all")
    run_git(project, "commit", "-q", "-m", "work")


def records(out: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in out.splitlines()]
    for record in found:
        check_record(record)
    return found


def lines(record: dict[str, Any], name: str) -> list[tuple[str, str | None, list[tuple[int, int]]]]:
    (file,) = [each for each in record["files"] if each["path"] == name]
    return [
        (
            each["contributor"]["type"],
            each.get("url"),
            [(found["start_line"], found["end_line"]) for found in each["ranges"]],
        )
        for each in file["conversations"]
    ]


def everything(folder: str) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


def test_agent_trace(home: Home, project: str, committed: list[str]) -> None:
    before = everything(os.path.join(project, ".git"))
    (record,) = records(home.ok(project, "log", "--format", "agent-trace", "HEAD~1"))
    assert record["vcs"] == {"type": "git", "revision": committed[1]}
    assert lines(record, "f.txt") == [
        ("ai", "snapd:session/first", [(3, 3)]),
        ("human", None, [(9, 9)]),
        ("ai", "snapd:session/second", [(13, 14)]),
    ]
    assert lines(record, "new.txt") == [("ai", "snapd:session/first", [(1, 1)])]
    assert record["metadata"]["snapd"]["sessions"]["snapd:session/first"]["agent"] == "claude"
    # of the last commit, the oldest first, and from a folder below as well
    (last,) = records(home.ok(project, "log", "--format", "agent-trace"))
    assert lines(last, "f.txt") == [("human", None, [(3, 3)])]
    told = home.run(os.path.join(project, "src"), "log", "--format", "agent-trace", f"{committed[0]}..HEAD")
    assert told.code == 0
    assert records(told.text) == [record, last]
    assert everything(os.path.join(project, ".git")) == before


def test_git_ai(home: Home, project: str, committed: list[str]) -> None:
    text = home.ok(project, "log", "--format", "git-ai", committed[1])
    note = parse(text)
    assert {name: sorted(of) for name, of in note.files.items()} == {"f.txt": [3, 13, 14], "new.txt": [1]}
    assert note.session(note.files["f.txt"][3]) == {"tool": "claude", "id": "first", "model": "unknown"}
    assert note.session(note.files["f.txt"][13]) == {"tool": "unknown", "id": "second", "model": "unknown"}
    run_git(project, "notes", "--ref=ai", "add", "-F", "-", committed[1], input=text.encode())
    assert run_git(project, "notes", "--ref=ai", "show", committed[1]).decode() == text
    assert parse(home.ok(project, "log", "--format", "git-ai")).files == {}


def test_git_ai_of_a_range(home: Home, project: str, committed: list[str]) -> None:
    identity = {"GIT_COMMITTER_NAME": "C", "GIT_COMMITTER_EMAIL": "c@example.com"}
    done = home.run(project, "log", "--format", "git-ai", f"{committed[0]}..", env=identity)
    assert (done.code, done.err) == (0, "")
    run_git(project, "fast-import", "--quiet", input=done.out)
    # a commit without lines of agents has no note
    assert run_git(project, "notes", "--ref=ai", "list").split()[1::2] == [committed[1].encode()]
    note = run_git(project, "notes", "--ref=ai", "show", committed[1]).decode()
    assert note == home.ok(project, "log", "--format", "git-ai", committed[1])
    # a second time, the notes that are there stay, those of others in any case
    run_git(project, "notes", "--ref=ai", "add", "-m", "of git-ai", committed[0])
    again = home.run(project, "log", "--format", "git-ai", f"{committed[0]}..", env=identity)
    run_git(project, "fast-import", "--quiet", input=again.out)
    assert len(run_git(project, "notes", "--ref=ai", "list").splitlines()) == 2
    for other in (
        "of somebody",
        note.replace('"unknown",', '"m",', 1),
        note.replace('"prompts": {}', '"prompts": {"a": {}}'),
        note.replace('"id": "first"', '"id": "third"'),
    ):
        run_git(project, "notes", "--ref=ai", "add", "-f", "-F", "-", committed[1], input=other.encode())
        kept = home.run(project, "log", "--format", "git-ai", f"{committed[0]}..", env=identity)
        told = f"snapd: commit {committed[1][:12]} already has a note from another author, which stays\n"
        assert (kept.code, kept.out, kept.err) == (0, b"", told)
    # one that snapd wrote, and that has less than is known now
    less = note.replace("new.txt\n", "old.txt\n")
    run_git(project, "notes", "--ref=ai", "add", "-f", "-F", "-", committed[1], input=less.encode())
    more = home.run(project, "log", "--format", "git-ai", f"{committed[0]}..", env=identity)
    run_git(project, "fast-import", "--quiet", input=more.out)
    assert run_git(project, "notes", "--ref=ai", "show", committed[1]).decode() == note
    nobody = home.run(project, "log", "--format", "git-ai", "HEAD~1..")
    assert (nobody.code, nobody.out) == (0, b"")
    assert nobody.err == "snapd: no agent wrote a line of the commits in HEAD~1..\n"


def test_no_commits(home: Home, project: str, committed: list[str]) -> None:
    for name in ("agent-trace", "git-ai"):
        done = home.run(project, "log", "--format", name, "HEAD..HEAD")
        assert (done.code, done.out, done.err) == (0, b"", "snapd: git has no commits in HEAD..HEAD\n")


def test_a_name_that_a_format_cannot_have(home: Home, project: str, committed: list[str]) -> None:
    for name in (b"caf\xe9", b"line\nfeed"):
        Path(os.fsdecode(os.path.join(os.fsencode(project), name))).write_bytes(b"1\n")
    commit(project)
    done = home.run(project, "log", "--format", "agent-trace")
    assert (done.code, [file["path"] for file in records(done.text)[0]["files"]]) == (3, ["line\nfeed"])
    assert done.err == "snapd: left out $'caf\\xe9': agent-trace cannot have this name\n"
    done = home.run(project, "log", "--format", "git-ai")
    assert (done.code, parse(done.text).files) == (3, {})
    assert [line.split(":")[1].split()[:2] for line in done.err.splitlines()] == [["left", "out"]] * 2


def test_what_is_refused(home: Home, project: str, committed: list[str]) -> None:
    for words, said in (
        (("nope",), "git knows no commit 'nope'"),
        (("HEAD", "HEAD~1"), "expected one commit, or one range"),
        (("--json",), "cannot be used with --json"),
        (("--patch",), "cannot be used with --patch"),
        (("--oneline",), "cannot be used with --oneline"),
        (("-n", "0"), "cannot be used with -n"),
        (("--session", "first"), "cannot be used with --session"),
        (("--since", "2h"), "cannot be used with --since"),
    ):
        done = home.run(project, "log", "--format", "git-ai", *words)
        assert done.code == 2, words
        assert said in (done.err or done.text), words
        assert "hint" in (done.err or done.text)
    assert home.run(project, "log", "--format", "svg").code == 2


def test_a_folder_without_git(home: Home, project: str) -> None:
    done = home.run(project, "log", "--format", "agent-trace")
    assert (done.code, done.out) == (1, b"")
    assert "not a git repository" in done.err
    assert "hint: " in done.err
    run_git(project, "init", "-q")
    done = home.run(project, "log", "--format", "agent-trace")
    assert "there is no commit yet" in done.err
