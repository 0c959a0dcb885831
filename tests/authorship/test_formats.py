"""Records of Agent Trace and notes of git-ai: by their specifications, and as git takes them."""

from __future__ import annotations

import json
import os
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import pytest
from jsonschema import Draft202012Validator

from snapd.authorship import agent_trace, git_ai
from snapd.authorship.commits import UNKNOWN, AttributedFile, Author, Commit, LineRange
from snapd.notes.note import NOTES
from tests.support.amounts import amount
from tests.support.git import run_git

from .notes import parse

SCHEMA = json.loads(Path(__file__).with_name("agent-trace-0.1.0.schema.json").read_text(encoding="utf-8"))
COMMIT = Commit("ab" * 20, ("cd" * 20,), 1_700_000_000, 1_709_647_200)
ONE, TWO = Author("agent", "s1", "step1", "claude"), Author("agent", "s1", "step2", "claude")
OTHER, USER = Author("agent", "other one", "step3"), Author("user")
NAMES = ["a.py", "my file.rs", "tab\there", '"quoted"', 'a"b', "---", "  two", "caf\u00e9", "\u2028", "x ", "#x", "-"]


def file(name: str, *lines: tuple[int, int, Author]) -> AttributedFile:
    return AttributedFile(os.fsencode(name), tuple((LineRange(first, last), author) for first, last, author in lines))


def check_record(record: dict[str, Any]) -> None:
    """By the specification's schema, and by the formats that it names."""
    Draft202012Validator.check_schema(SCHEMA)
    Draft202012Validator(SCHEMA).validate(record)
    assert record["version"] == "0.1.0"
    assert str(UUID(record["id"])) == record["id"]
    assert datetime.strptime(record["timestamp"], "%Y-%m-%dT%H:%M:%SZ")
    for each in record["files"]:
        for conversation in each["conversations"]:
            assert conversation["ranges"], "a conversation without lines"
            assert all(lines["start_line"] <= lines["end_line"] for lines in conversation["ranges"])
            urls = [conversation.get("url", "snapd:"), *(other["url"] for other in conversation.get("related", ()))]
            assert all(urlsplit(url).scheme == "snapd" and url.isascii() and " " not in url for url in urls)


def test_a_record() -> None:
    files = [
        file("a.py", (1, 2, ONE), (3, 3, TWO), (5, 5, USER), (6, 6, OTHER), (8, 9, ONE)),
        file("b.py", (1, 1, UNKNOWN)),
    ]
    record = agent_trace.record(COMMIT, files)
    check_record(record)
    assert record["timestamp"] == "2024-03-05T14:00:00Z"
    assert record["vcs"] == {"type": "git", "revision": COMMIT.name}
    assert record["tool"]["name"] == "snapd"
    assert record["files"] == [
        {
            "path": "a.py",
            "conversations": [
                {
                    "url": "snapd:session/s1",
                    "contributor": {"type": "ai"},
                    "related": [{"type": "step", "url": f"snapd:step/{step}"} for step in ("step1", "step2")],
                    "ranges": [{"start_line": 1, "end_line": 3}, {"start_line": 8, "end_line": 9}],
                },
                {"contributor": {"type": "human"}, "ranges": [{"start_line": 5, "end_line": 5}]},
                {
                    "url": "snapd:session/other%20one",
                    "contributor": {"type": "ai"},
                    "related": [{"type": "step", "url": "snapd:step/step3"}],
                    "ranges": [{"start_line": 6, "end_line": 6}],
                },
            ],
        },
        {
            "path": "b.py",
            "conversations": [{"contributor": {"type": "unknown"}, "ranges": [{"start_line": 1, "end_line": 1}]}],
        },
    ]
    assert record["metadata"]["snapd"]["sessions"] == {
        "snapd:session/s1": {"sessionId": "s1", "agent": "claude"},
        "snapd:session/other%20one": {"sessionId": "other one"},
    }
    # the same again is the same record, and another one has another id
    assert agent_trace.record(COMMIT, files) == record
    assert agent_trace.record(COMMIT, files[:1])["id"] != record["id"]


def test_a_record_of_nothing() -> None:
    record = agent_trace.record(COMMIT, [])
    check_record(record)
    assert (record["files"], "metadata" in record) == ([], False)


@pytest.mark.parametrize("wrong", [{"id": "x"}, {"files": [{"path": "a"}]}, {"vcs": {"type": "cvs", "revision": "1"}}])
def test_what_is_no_record_is_found_out(wrong: dict[str, Any]) -> None:
    """The check of these tests is one."""
    with pytest.raises(Exception):  # noqa: B017,PT011 - each check has its own
        check_record({**agent_trace.record(COMMIT, []), **wrong})


def test_a_note() -> None:
    lines = ((1, 2, ONE), (3, 3, TWO), (5, 5, USER), (6, 6, OTHER), (8, 9, ONE))
    text = git_ai.note(COMMIT, [file("a.py", *lines), file("of the user", (1, 1, USER), (2, 2, UNKNOWN))])
    note = parse(text)
    # by the standard: of tool and conversation
    session = "s_" + sha256(b"claude:s1").hexdigest()[:14]
    other = "s_" + sha256(b"unknown:other one").hexdigest()[:14]
    keys = {line: key.split("::")[0] for line, key in note.files["a.py"].items()}
    assert keys == {1: session, 2: session, 3: session, 6: other, 8: session, 9: session}
    traces = {line: key.split("::")[1] for line, key in note.files["a.py"].items()}
    assert traces[1] == traces[2] == traces[8] != traces[3] != traces[6]
    assert note.files.keys() == {"a.py"}
    assert note.metadata == {
        "schema_version": "authorship/3.0.0",
        "base_commit_sha": COMMIT.name,
        "prompts": {},
        "sessions": {
            session: {"agent_id": {"tool": "claude", "id": "s1", "model": "unknown"}},
            other: {"agent_id": {"tool": "unknown", "id": "other one", "model": "unknown"}},
        },
    }
    assert " 1-2,8-9\n" in text
    assert git_ai.attests(text)


def test_a_note_of_nothing() -> None:
    text = git_ai.note(COMMIT, [file("a", (1, 1, USER))])
    assert parse(text).files == {}
    assert not git_ai.attests(text)


@pytest.mark.parametrize("name", NAMES)
def test_names_of_files(name: str) -> None:
    """A reader finds each name again, however it is written."""
    assert git_ai.can_name(os.fsencode(name))
    assert parse(git_ai.note(COMMIT, [file(name, (1, 1, ONE)), file("z", (2, 2, ONE))])).files.keys() == {name, "z"}
    record = json.loads(json.dumps(agent_trace.record(COMMIT, [file(name, (1, 1, ONE))])))
    assert record["files"][0]["path"] == name


def test_names_that_a_format_cannot_have() -> None:
    assert not git_ai.can_name(b"caf\xe9")
    assert not git_ai.can_name(b"line\nfeed")
    assert not git_ai.can_name(b"carriage\rreturn")
    assert not agent_trace.can_name(b"caf\xe9")
    assert agent_trace.can_name(b"line\nfeed")


@pytest.mark.parametrize("seed", range(amount(20, 300)))
def test_whatever_was_written_is_read_again(seed: int) -> None:
    chance = Random(seed)
    authors = [ONE, TWO, OTHER, USER, UNKNOWN]
    expected, files = {}, []
    for name in chance.sample(NAMES, chance.randint(1, 5)):
        lines = {line: chance.choice(authors) for line in range(1, 40) if chance.randrange(3)}
        expected[name] = lines
        files.append(file(name, *((line, line, author) for line, author in lines.items())))
    note = parse(git_ai.note(COMMIT, files))
    ids = {
        name: {line: (note.session(key)["id"], key.split("::")[1]) for line, key in lines.items()}
        for name, lines in note.files.items()
    }
    of_agents = {
        name: {line: author for line, author in lines.items() if author.kind == "agent"}
        for name, lines in expected.items()
    }
    assert ids == {
        name: {
            line: (author.session_id, f"t_{sha256(author.step_id.encode()).hexdigest()[:14]}")
            for line, author in lines.items()
        }
        for name, lines in of_agents.items()
        if lines
    }
    record = agent_trace.record(COMMIT, files)
    check_record(record)
    kinds = {"ai": "agent", "human": "user", "unknown": "unknown"}
    assert {
        each["path"]: {
            line: (kinds[conversation["contributor"]["type"]], conversation.get("url", ""))
            for conversation in each["conversations"]
            for lines in conversation["ranges"]
            for line in range(lines["start_line"], lines["end_line"] + 1)
        }
        for each in record["files"]
    } == {
        name: {
            line: (author.kind, f"snapd:session/{author.session_id.replace(' ', '%20')}" if author.session_id else "")
            for line, author in lines.items()
        }
        for name, lines in expected.items()
    }


def test_a_stream_is_what_git_fast_import_takes(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "--quiet")
    for text in ("1", "2"):
        run_git(tmp_path, "commit", "--quiet", "--allow-empty", "--message", text)
    names = run_git(tmp_path, "rev-list", "HEAD").decode().split()
    commits = [Commit(name, (), 0, 0) for name in names]
    texts = {
        name: git_ai.note(commit, [file("caf\u00e9", (1, 2, ONE))]) for name, commit in zip(names, commits, strict=True)
    }
    committer = b"C <c@example.com> 1700000000 +0000"

    def add(chosen: list[Commit], parent: str | None) -> None:
        data = b"".join(git_ai.stream([(commit, texts[commit.name]) for commit in chosen], committer, parent))
        run_git(tmp_path, "fast-import", "--quiet", input=data)

    def shown(name: str) -> str:
        return run_git(tmp_path, "notes", "--ref=ai", "show", name).decode()

    add(commits[:1], None)
    assert shown(names[0]) == texts[names[0]]
    # what is there stays, and git-ai may have written to the one or the other
    run_git(tmp_path, "notes", "--ref=ai", "add", "--force", "--message", "of git-ai", names[0])
    parent = run_git(tmp_path, "rev-parse", NOTES).decode().strip()
    add(commits[1:], parent)
    assert (shown(names[0]), shown(names[1])) == ("of git-ai\n", texts[names[1]])
    # git refuses a stream that ends too early
    data = b"".join(git_ai.stream([(commits[0], texts[names[0]])], committer, None))
    with pytest.raises(AssertionError, match="fatal"):
        run_git(tmp_path, "fast-import", "--quiet", input=data.removesuffix(b"done\n"))
