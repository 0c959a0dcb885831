"""A project in git with notes of git-ai, and what snapd says about its lines."""

from __future__ import annotations

import json
import os
from datetime import datetime
from typing import TYPE_CHECKING, Any

import attrs

from snapd.handlers import HANDLERS, Context
from snapd.model.call import Call
from snapd.wire.converter import structure, unstructure
from snapd.wire.methods import METHODS
from tests.support.git import run_git
from tests.support.sessions import Agents
from tests.support.workspace import make

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.support.workspace import Items

KEY = "s_0123456789abcd::t_00000000000001"
PERSON_KEY = "h_0123456789abcd"
PERSON = "Some Body <somebody@example.com>"


def note(attested: str, session: str = "conversation", **other: Any) -> bytes:
    """A note whose lines are those of one session of claude, and of one person."""
    agent = {"agent_id": {"tool": "claude", "id": session, "model": "some-model"}}
    metadata = {
        "schema_version": "authorship/3.0.0",
        "base_commit_sha": "",
        "prompts": {},
        "sessions": {KEY.split("::")[0]: agent},
        "humans": {PERSON_KEY: {"author": PERSON}},
        **other,
    }
    return f"{attested}---\n{json.dumps(metadata)}\n".encode()


@attrs.frozen
class Noted:
    """A folder in git.

    Attributes:
        agents: at work there.
        top: the root of the git work tree.
    """

    agents: Agents
    top: Path

    @classmethod
    def made(cls, folder: Path, items: Items, *, inside: str = "") -> Noted:
        """Makes a folder with one commit; arguments as of `make`."""
        bench = make(folder, items, git=True, inside=inside)
        made = cls(Agents(bench), folder / "work")
        made.commit()
        return made

    def git(self, *words: str, data: bytes | None = None) -> bytes:
        return run_git(self.top, *words, input=data)

    def commit(self) -> str:
        """Commits all that there is; gives the hash."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "work")
        return self.head

    @property
    def head(self) -> str:
        return self.git("rev-parse", "HEAD").decode().strip()

    def attach(self, data: bytes, commit: str = "HEAD") -> None:
        """Attaches a note to a commit, as it is."""
        blob = self.git("hash-object", "-w", "--stdin", data=data).decode().strip()
        self.git("notes", "--ref=ai", "add", "--force", "-C", blob, commit)

    def ask(self, file: str, **params: Any) -> dict[str, Any]:
        """What `snapshot/blame` answers."""
        bench = self.agents.bench
        context = Context(bench.workspace, (bench.workspace.root, os.fsencode(bench.root)), bench, Call())
        asked = structure({"file": file, **params}, METHODS["snapshot/blame"].params)
        answer: dict[str, Any] = unstructure(HANDLERS["snapshot/blame"](context, asked))
        return answer

    def blame(self, file: str, **params: Any) -> dict[int, tuple[str, str, str]]:
        """For each line from before that is noted: the commit, who wrote it, and the session."""
        answer = self.ask(file, **params)
        assert "noteProblems" not in answer, answer
        return noted(answer)

    def by_commit(self, file: str, **params: Any) -> list[tuple[str, str, int, str] | None]:
        """Of each line, what the answer says of the commit that brought it: hash, author, time and message."""
        found: list[tuple[str, str, int, str] | None] = []
        for run in self.ask(file, **params)["lines"]:
            made = run.get("commit")
            assert made is None or run["author"] == "before"
            if made is not None:
                seconds = int(datetime.fromisoformat(made["at"]).timestamp())
                made = made["id"], f"{made['author']} <{made.get('email', '')}>", seconds, made["summary"]
            found += [made] * run["count"]
        return found

    def by_git_now(self, file: str) -> list[tuple[str, str, int, str] | None]:
        """The same by `git blame` of the file as it is in the folder; None for lines that are not committed."""
        found: list[tuple[str, str, int, str] | None] = []
        fields: dict[str, dict[str, str]] = {}
        commit = ""
        for line in self.git("blame", "--porcelain", "--", file).decode().split("\n"):
            word, _, rest = line.partition(" ")
            if line.startswith("\t"):
                made = fields[commit]
                by = f"{made['author']} {made['author-mail']}", int(made["author-time"]), made["summary"]
                found.append((commit, *by) if commit.strip("0") else None)
            elif len(word) == 40:
                commit = word
                fields.setdefault(commit, {})
            elif line:
                fields[commit][word] = rest
        return found

    def problems(self, file: str) -> list[tuple[str | None, str]]:
        return [(each.get("commit"), each["reason"]) for each in self.ask(file).get("noteProblems", ())]

    def by_git(self, file: str, revision: str = "HEAD") -> list[tuple[str, str, int]]:
        """Of each line of a committed file, by `git blame`: the commit, the name there, the number there."""
        # another form than the one that snapd reads
        found: list[tuple[str, str, int]] = []
        names: dict[str, str] = {}
        commit, number = "", 0
        for line in self.git("blame", "--porcelain", revision, "--", file).decode().split("\n"):
            words = line.split(" ")
            if line.startswith("\t"):
                found.append((commit, names[commit], number))
            elif words[0] == "filename":
                names[commit] = line.removeprefix("filename ")
            elif len(words[0]) == 40:
                commit, number = words[0], int(words[1])
        return found


def noted(answer: Mapping[str, Any]) -> dict[int, tuple[str, str, str]]:
    """For each line that is noted: the commit, who wrote it, and the session."""
    found: dict[int, tuple[str, str, str]] = {}
    for run in answer["lines"]:
        if "noted" not in run:
            continue
        assert run["author"] == "before"
        told = run["noted"]
        by = told["commit"], told.get("agent") or told["person"], told.get("sessionId", "")
        found |= dict.fromkeys(range(run["start"], run["start"] + run["count"]), by)
    return found
