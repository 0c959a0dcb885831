"""Random histories in which a line says who wrote it: blame and review have to agree, and so has `git blame`."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

import pytest

from tests.core.actions.reviewing import Reviewer
from tests.support.amounts import amount
from tests.support.sessions import at_work

from .oracle import ENVIRONMENT, git

MAIN, TOPIC, UPSTREAM = "main.txt", "topic.txt", "upstream.txt"
BRANCHES = {"main": MAIN, "topic": TOPIC}


class History:
    """Agents and a user in a clone, and somebody who works upstream. A line is `WRITER NUMBER`.

    A file is only edited on its branch: git never mixes two versions of it.
    """

    def __init__(self, tmp_path: Path, random: Random, monkeypatch: pytest.MonkeyPatch) -> None:
        self.random = random
        self._monkeypatch = monkeypatch
        self._ahead = 0
        self._numbers = 0
        self._real = time.time_ns
        monkeypatch.setattr(time, "time_ns", lambda: self._real() + self._ahead * 1_000_000_000)
        self.upstream = tmp_path / "upstream"
        self.upstream.mkdir()
        git(self.upstream, "init", "-qb", "main")
        self._advance()
        for name in (MAIN, TOPIC, UPSTREAM):
            self.write(self.upstream, name, "before")
        self.commit(self.upstream)
        self.agents = at_work(tmp_path, {})
        self.folder = Path(self.agents.bench.root)
        git(self.folder, "init", "-qb", "main")
        git(self.folder, "remote", "add", "origin", str(self.upstream))
        git(self.folder, "pull", "-q", "origin", "main")
        git(self.folder, "branch", "topic")
        self.agents.bench.track()
        self.agents.start("s")
        self.steps: list[str] = []

    def _advance(self) -> None:
        """Lets twenty seconds pass, for snapd and for git."""
        self._ahead += 20
        # whatever a step commits is dated after its beginning, however slow the machine is
        now = f"{self._real() // 1_000_000_000 + self._ahead + 10} +0000"
        for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
            self._monkeypatch.setitem(ENVIRONMENT, name, now)

    def write(self, folder: Path, name: str, writer: str) -> None:
        path = folder / name
        lines = path.read_text().splitlines() if path.exists() else []
        for _ in range(self.random.randint(1, 3)):
            self._numbers += 1
            lines.insert(self.random.randint(0, len(lines)), f"{writer} {self._numbers}")
        path.write_text("".join(f"{line}\n" for line in lines))

    def commit(self, folder: Path) -> None:
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "work", f"--author={folder.name} <a@b>")

    # -- what happens

    def turn(self) -> None:
        """Something happens; what git does, it does in a step of the agent."""
        self._advance()
        what = self.random.choice(("edit", "edit", "edit", "user", "user", "upstream", "git", "git", "git", "git"))
        if what == "upstream":
            self.write(self.upstream, UPSTREAM, "before")
            self.commit(self.upstream)
        elif what == "user":
            self.write(self.folder, self.own_file(), "user")
            self.agents.bench.track()
            if self.random.random() < 0.5:
                self.commit(self.folder)
        else:
            number = len(self.steps)
            self.steps.append(self.agents.begin("s"))
            if what == "edit":
                self.write(self.folder, self.own_file(), f"step{number}")
                if self.random.random() < 0.5:
                    self.commit(self.folder)
            else:
                self.do_git()
            self.agents.end(self.steps[-1])

    def own_file(self) -> str:
        return BRANCHES[git(self.folder, "branch", "--show-current").strip()]

    def do_git(self) -> None:
        folder = self.folder
        here = git(folder, "branch", "--show-current").strip()
        other = next(name for name in BRANCHES if name != here)
        if git(folder, "status", "--porcelain"):
            # an agent that puts the user's work on the stash changed these files: that has to be reviewed
            is_mine = "user" not in git(folder, "diff", "-U0")
            git(folder, *(["stash", "-qu"] if is_mine and self.random.random() < 0.5 else ["commit", "-qam", "work"]))
            return
        picked = git(folder, "log", "--reverse", "--no-merges", "--format=%h", f"HEAD..{other}").split()[:1]
        commands = [
            ["checkout", "-q", other],
            ["merge", "-q", "--no-edit", other],
            ["pull", "-q", "--no-rebase", "--no-edit", "origin", "main"],
            ["rebase", "-q", other],
            ["cherry-pick", *picked],
            ["stash", "pop", "-q"],
        ]
        words = self.random.choice(commands)
        is_on_top = git(folder, "rev-parse", "stash@{0}^") == git(folder, "rev-parse", "HEAD")
        if words[0] == "stash" and not is_on_top:
            return
        git(folder, *words)
        for operation in ("merge", "rebase", "cherry-pick"):
            git(folder, operation, "--abort")

    # -- who wrote what

    def check(self) -> None:
        reviewer = Reviewer(self.agents)
        pending = reviewer.pending()
        for name in (MAIN, TOPIC, UPSTREAM):
            path = self.folder / name
            lines = path.read_text().splitlines() if path.exists() else []
            writers = [writer for writer, count in reviewer.blame(name) for _ in range(count)]
            assert writers == [self.writer(line) for line in lines], (name, lines)
            # what the user wrote between lines of an agent is reviewed with them
            mine = sum(line.startswith("step") for line in lines)
            assert (name in pending) == (mine > 0), (name, lines)
            assert pending.get(name, ("", 0, 0))[1] >= mine, (name, lines)
            self.check_with_git(name, writers)

    def writer(self, line: str) -> str:
        writer = line.split(" ")[0]
        return self.steps[int(writer.removeprefix("step"))] if writer.startswith("step") else writer

    def check_with_git(self, name: str, writers: list[str]) -> None:
        """Whether git blames the same lines on commits from upstream, if all are committed."""
        if writers and not git(self.folder, "status", "--porcelain", "--", name):
            blamed = git(self.folder, "blame", "--line-porcelain", name).splitlines()
            authors = [line.removeprefix("author ") for line in blamed if line.startswith("author ")]
            assert [author == "upstream" for author in authors] == [writer == "before" for writer in writers], name


@pytest.mark.parametrize("seed", range(amount(6, 200)))
def test_random_histories(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history = History(tmp_path, Random(seed), monkeypatch)
    for _ in range(12):
        history.turn()
        history.check()
