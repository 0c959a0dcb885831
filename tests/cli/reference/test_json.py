"""What the commands print with `--json`, against the schema; errors too."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scripts.generate.answers import load_all, name_of, text
from snapd.cli.parsing.parser import build_parser
from snapd.cli.parsing.usage import subcommands
from tests.cli.reference.schema import problems
from tests.cli.running import Home
from tests.cli.steps import numbered, put
from tests.support.git import run_git

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

SCHEMA = json.loads(text())

CALLS: dict[str, list[str]] = {
    "track": ["track"],
    "patch": ["patch {first}"],
    "diff": ["diff {first}"],
    "show": ["show a.txt@last", "show {step}", "show bytes@last"],
    "files": ["files last"],
    "status": ["status"],
    "push": ["push {remote} -n", "push {remote} -y"],
    "fetch": ["fetch {remote}"],
    "bundle": ["bundle ../s.bundle s -n", "bundle ../s.bundle --all -y"],
    "unbundle": ["unbundle ../given.bundle"],
    "handover": ["handover {remote} -n", "handover --file ../h.bundle -y"],
    "takeover": ["takeover --file ../handed.bundle -n"],
    "apply": ["apply {step} -n"],
    "revert": ["revert {first} a.txt -n"],
    "restore": ["restore {first} -n", "restore {first} -y"],
    "review": ["review", "review -p"],
    "blame": ["blame a.txt", "blame a.txt:1"],
    "keep": ["keep --all"],
    "comment": ["comment a.txt:1 hello"],
    "comments": ["comments"],
    "rewind": ["rewind m1 -n", "rewind m1 --chat-only", "rewind m1 -y"],
    "snapshots": ["snapshots -n 0"],
    "export": ["export last ../out"],
    "bisect": ["bisect -- grep -q 4 a.txt", "bisect s --reuse -- grep -q 4 a.txt"],
    "sessions": ["sessions"],
    "log": ["log -n 0", "log -n 0 -p"],
    # it goes on for ever; each of its lines is an answer
    "watch": [],
    # its answer is an address, and then it serves
    "web": [],
    "undo": ["undo {step} -n", "undo {step} a.txt -n", "undo {step} -y"],
    "redo": ["redo --session u -y"],
    "revert-hunk": ["revert-hunk {step} a.txt 1 -n"],
    "stage": ["stage s -n", "stage {step}", "stage {step} --file new.txt --message"],
    "step begin": ["step begin --session s"],
    "step end": ["step end {step}", "step end --all"],
    "session end": ["session end s"],
    "agent install": ["agent install claude -n", "agent install claude cline"],
    "agent uninstall": ["agent uninstall --all"],
    "agent status": ["agent status"],
    # nothing was renamed
    "adopt": [],
    "gc": ["gc", "gc --all"],
    "du": ["du", "du --all"],
    "purge": ["purge gone.txt -n", "purge gone.txt -y"],
    "stop": ["stop", "stop"],
    "uninstall": ["uninstall -n", "uninstall --keep-data"],
    "doctor": ["doctor"],
    "fsck": ["fsck", "fsck --all", "fsck --repair"],
}
"""For each answer, calls that print every form of it. A new command gets calls here."""

LAST = ("session end", "purge", "gc", "fsck", "stop", "uninstall")
"""What would leave the others less to show."""


class Work:
    """A folder in which something of everything has happened."""

    def __init__(self) -> None:
        self.home = Home()
        self.project = self.home.project("p", {"a.txt": numbered(9), "bytes": b"\xff\0", "gone.txt": b"key\n"})
        os.mkfifo(os.path.join(self.project, "pipe"))
        run_git(self.project, "init", "-q")
        run_git(self.project, "add", "a.txt")
        self.first = self.home.run(self.project, "track").text.strip()
        os.remove(os.path.join(self.project, "gone.txt"))
        undone = self.home.run(self.project, "step", "begin", "--session", "u").text.strip()
        put(self.project, {"u.txt": b"u\n"})
        self.home.run(self.project, "step", "end", undone)
        self.home.run(self.project, "undo", undone, "-y")
        asked = ("--session", "s", "--agent", "bot", "--message", "m1")
        self.step = self.home.run(self.project, "step", "begin", *asked).text.strip()
        put(self.project, {"a.txt": numbered(9, l4=b"four"), "new.txt": b"new\n"})
        self.home.run(self.project, "step", "end", self.step)
        self.remote = self.home.at("remote")
        os.mkdir(self.remote)
        run_git(self.remote, "init", "-q", "--bare", ".")
        self.home.run(self.project, "push", self.remote, "-y")
        self.home.run(self.project, "fetch", self.remote)
        self.home.run(self.project, "bundle", "../given.bundle", "s", "-y")
        self.home.run(self.project, "handover", "--file", "../handed.bundle", "-y")
        self.home.run(self.project, "step", "begin", "--session", "t", "--tool", "Edit", "--description", "it goes on")

    def ask(self, call: str) -> tuple[int, Any, str]:
        """The exit code, what is printed as JSON, and what else is said."""
        own, *command = call.format(first=self.first, step=self.step, remote=self.remote).partition(" -- ")
        done = self.home.run(self.project, *own.split(), "--json", *"".join(command).split())
        return done.code, done.json, done.err


@pytest.fixture(scope="module")
def work() -> Iterator[Work]:
    made = Work()
    yield made
    made.home.close()


def commands(parser: argparse.ArgumentParser, words: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """All commands that do something, by their words."""
    below = subcommands(parser)
    if not below:
        yield words, parser
    for name, each in below.items():
        yield from commands(each, f"{words} {name}".strip())


def test_every_command_has_an_answer_or_a_reason() -> None:
    every = load_all()
    for words, parser in commands(build_parser()):
        assert bool(every[words].answer) != bool(every[words].without_json), (
            f"{words}: say what --json prints, or why not"
        )
        assert ("--json" in parser.options) == bool(every[words].answer), words
        assert (words in CALLS) == bool(every[words].answer), f"{words}: add calls of it to CALLS"


def test_answers(work: Work) -> None:
    # one after the other, in this order: many change what others show
    for words in sorted(CALLS, key=lambda words: LAST.index(words) if words in LAST else -1):
        # what is still there cannot be purged, and others bring it back
        Path(work.project, "gone.txt").unlink(missing_ok=True)
        for call in CALLS[words]:
            code, answer, _ = work.ask(call)
            assert code in (0, 3), (call, answer)
            assert problems(answer, SCHEMA["$defs"][name_of(words)], SCHEMA) == [], call


@pytest.mark.parametrize(
    ("call", "code", "kind", "said"),
    [
        ("udno", 2, "wrongUsage", "there is no 'udno'"),
        ("log -n x", 2, "wrongUsage", "-n"),
        ("log -n -1", 2, "invalidParams", "-n"),
        ("diff nonsense", 2, "invalidParams", "nonsense"),
        ("files " + "0" * 40, 1, "unknownSnapshot", "0" * 40),
        ("show nope@last", 1, "fileNotInSnapshot", "nope"),
        ("undo 0123456789abcdef", 1, "unknownStep", "0123456789abcdef"),
        ("log --session nope", 1, "unknownSession", "nope"),
        ("track -C /nowhere", 1, "workspaceRefused", "/nowhere"),
        ("status --socket /nowhere/at/all", 4, "ioError", "/nowhere/at/all"),
        ("restore last", 2, "invalidParams", "not a terminal"),
    ],
)
def test_errors(work: Work, call: str, code: int, kind: str, said: str) -> None:
    put(work.project, {"a.txt": b"changed\n"})
    found, answer, err = work.ask(call)
    assert (found, answer["error"]["kind"], err) == (code, kind, "")
    assert said in answer["error"]["message"]
    assert answer["error"]["hint"]
    assert problems(answer, SCHEMA["$defs"]["Failure"], SCHEMA, more=True) == []


def test_a_hook_reads_why_there_is_no_step(work: Work) -> None:
    code, answer, err = work.ask("step begin --best-effort -C /nowhere")
    assert (code, answer["error"]["kind"], err) == (0, "workspaceRefused", "")


def test_the_file_is_that_of_these_commands() -> None:
    written = Path(__file__).parents[3] / "docs" / "cli.schema.json"
    assert written.read_text("utf-8") == text(), "run make generate"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"files": "a"}, ".files: expected array, got 'a'"),
        ({"files": [1]}, ".files[0]: expected string, got 1"),
        ({}, ": files is missing"),
        ({"files": [], "more": 1}, ": more is not described"),
    ],
)
def test_the_check_finds_what_is_wrong(value: Any, said: str) -> None:
    assert problems(value, SCHEMA["$defs"]["files"], SCHEMA) == [said]
    assert problems({"hash": "X" * 40, "files": []}, SCHEMA["$defs"]["patch"], SCHEMA) != []
