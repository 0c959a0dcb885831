"""What git puts into the folder was not written by the agent that ran it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from snapd.core.operations.runner import OperationOptions
from tests.core.actions.reviewing import Reviewer
from tests.support.workspace import outcomes

from .oracle import ENVIRONMENT, git
from .test_undo import all_of, undo, with_git

PLAIN = OperationOptions("merge", False, False)


@pytest.fixture(autouse=True)
def long_ago(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Has git date commits long before the steps, until the result is called."""
    for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
        monkeypatch.setitem(ENVIRONMENT, name, "1700000000 +0000")
    return lambda: [ENVIRONMENT.pop(name) for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE")] and None


def reset(folder: Path) -> None:
    git(folder, "reset", "-q", "--hard", "HEAD~1")


def checkout(folder: Path) -> None:
    git(folder, "checkout", "-q", "topic")


def merge(folder: Path) -> None:
    git(folder, "merge", "-q", "--no-edit", "other")


def rebase(folder: Path) -> None:
    git(folder, "rebase", "-q", "other")


def pull(folder: Path) -> None:
    git(folder, "pull", "-q", "--no-rebase", "--no-edit", "../elsewhere", "more")


def pop(folder: Path) -> None:
    git(folder, "stash", "pop", "-q")


@pytest.mark.parametrize("command", [reset, checkout, merge, rebase, pull, pop], ids=lambda each: each.__name__)
def test_what_git_brought_is_nobodys(
    tmp_path: Path, command: Callable[[Path], None], long_ago: Callable[[], None]
) -> None:
    agents, folder = with_git(tmp_path)
    git(folder, "clone", "-q", ".", "../elsewhere")
    elsewhere = folder.parent / "elsewhere"
    git(elsewhere, "checkout", "-qb", "more")
    (elsewhere / "more").write_text("more")
    git(elsewhere, "add", "-A")
    git(elsewhere, "commit", "-qm", "more")
    git(folder, "checkout", "-qb", "other", "topic")
    (folder / "other").write_text("other")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "other")
    git(folder, "checkout", "-q", "main")
    (folder / "b").write_text("stashed")
    git(folder, "stash", "-q")
    long_ago()
    agents.bench.track()
    was = all_of(folder)
    step = agents.step("s", lambda: command(folder))
    became = all_of(folder)
    assert became != was
    assert agents.files(step) == {}
    assert Reviewer(agents).pending() == {}
    outcome = undo(agents, step, PLAIN)
    assert set(outcomes(outcome).values()) == {"unchanged:byGit"}
    assert all_of(folder) == became
    assert undo(agents, step).git is not None
    assert all_of(folder) == was


def test_uncommitted_work_that_a_reset_threw_away_comes_back(tmp_path: Path, long_ago: Callable[[], None]) -> None:
    agents, folder = with_git(tmp_path)
    long_ago()
    (folder / "a").write_text("not committed")
    step = agents.step("s", lambda: git(folder, "reset", "-q", "--hard", "HEAD~1"))
    assert agents.files(step) == {"a": "modified"}
    undo(agents, step, PLAIN)
    assert (folder / "a").read_text() == "not committed"


def test_what_an_agent_commits_is_its_own(tmp_path: Path, long_ago: Callable[[], None]) -> None:
    agents, folder = with_git(tmp_path)
    long_ago()

    def commit(*words: str) -> None:
        (folder / "a").write_text("mine " + " ".join(words))
        git(folder, "commit", "-qam", "mine", *words)

    for words in ((), ("--amend",)):
        step = agents.step("s", lambda words=words: commit(*words))
        assert agents.files(step) == {"a": "modified"}
