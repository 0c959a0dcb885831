"""What git brings in a step belongs to nobody: in reviews and in blame."""

from __future__ import annotations

from pathlib import Path

import pytest

from snapd.model.call import Call
from tests.core.actions.reviewing import Reviewer
from tests.sharing.test_projection import compare
from tests.support.sessions import Agents, at_work

from .oracle import ENVIRONMENT, git

LONG_AGO = {"GIT_AUTHOR_DATE": "1700000000 +0000", "GIT_COMMITTER_DATE": "1700000000 +0000"}


def commit(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", f"{name} changed")


def blame(agents: Agents, name: str) -> list[tuple[str, int]]:
    """Who wrote how many lines in a row."""
    result: list[tuple[str, int]] = []
    for writer, count in Reviewer(agents).blame(name):
        before = result.pop()[1] if result and result[-1][0] == writer else 0
        result.append((writer, before + count))
    return result


def by_git(agents: Agents, step: str) -> dict[bytes, bool]:
    """The files that a step shows, and which of them git put there."""
    sessions = agents.bench.workspace.sessions
    view = sessions.shown(sessions.known_step(step), Call())
    return {file.path: file.by_git for file in view.files or ()}


@pytest.fixture
def place(tmp_path: Path) -> tuple[Agents, Path]:
    """A repository with a second branch, which differs in three files, and a session."""
    agents = at_work(tmp_path, {"a": b"one\ntwo\n", "b": b"b\n"})
    folder = Path(agents.bench.root)
    git(folder, "init", "-qb", "main")
    commit(folder, "c", "c\n")
    git(folder, "checkout", "-qb", "topic")
    (folder / "b").unlink()
    commit(folder, "a", "one\nbetween\ntwo\n")
    commit(folder, "new", "new\n")
    git(folder, "checkout", "-q", "main")
    agents.start("s")
    return agents, folder


def test_a_checkout_is_nobodys(place: tuple[Agents, Path]) -> None:
    agents, folder = place
    step = agents.step("s", lambda: git(folder, "checkout", "-q", "topic"))
    assert by_git(agents, step) == {b"a": True, b"b": True, b"new": True}
    reviewer = Reviewer(agents)
    assert reviewer.pending() == {}
    assert blame(agents, "a") == [("before", 3)]
    assert blame(agents, "new") == [("before", 1)]


def test_the_agents_own_edit_beside_a_checkout_stays_its_own(place: tuple[Agents, Path]) -> None:
    agents, folder = place

    def work() -> None:
        git(folder, "checkout", "-q", "topic")
        (folder / "new").write_text("new\nmore\n")
        (folder / "own").write_text("own\n")
        git(folder, "commit", "-qam", "more")

    step = agents.step("s", work)
    assert by_git(agents, step) == {b"a": True, b"b": True, b"new": False, b"own": False}
    reviewer = Reviewer(agents)
    assert reviewer.pending().keys() == {"new", "own"}
    assert blame(agents, "a") == [("before", 3)]
    assert blame(agents, "own") == [(step, 1)]
    # and so on the machine that the session is pushed to
    compare(agents, "s")


def test_a_step_that_names_what_git_brought_does_not_own_it(place: tuple[Agents, Path]) -> None:
    agents, folder = place
    step = agents.begin("s")
    git(folder, "checkout", "-q", "topic")
    agents.end(step, ["a", "new"])
    assert Reviewer(agents).pending() == {}
    assert blame(agents, "a") == [("before", 3)]


def test_a_commit_changes_no_owner(place: tuple[Agents, Path]) -> None:
    agents, folder = place
    step = agents.step("s", lambda: commit(folder, "a", "one\nmine\ntwo\n"))
    assert blame(agents, "a") == [("before", 1), (step, 1), ("before", 1)]


def test_an_amended_commit_is_the_agents(place: tuple[Agents, Path]) -> None:
    agents, folder = place

    def amend() -> None:
        (folder / "c").write_text("amended\n")
        git(folder, "commit", "-qa", "--amend", "--no-edit")

    step = agents.step("s", amend)
    assert blame(agents, "c") == [(step, 1)]


def test_lines_that_a_checkout_brings_back_keep_their_writer(place: tuple[Agents, Path]) -> None:
    agents, folder = place
    step = agents.step("s", lambda: commit(folder, "a", "one\nmine\ntwo\n"))
    agents.step("s", lambda: git(folder, "checkout", "-q", "topic"))
    reviewer = Reviewer(agents)
    assert reviewer.pending() == {}
    assert blame(agents, "a") == [("before", 3)]
    agents.step("s", lambda: git(folder, "checkout", "-q", "main"))
    assert reviewer.pending() == {"a": ("modified", 1, 0)}
    assert blame(agents, "a") == [("before", 1), (step, 1), ("before", 1)]


def test_uncommitted_work_that_a_reset_overwrites_is_the_agents_change(place: tuple[Agents, Path]) -> None:
    agents, folder = place
    agents.bench.write({"a": b"not committed\n"})
    step = agents.step("s", lambda: git(folder, "reset", "-q", "--hard", "topic"))
    reviewer = Reviewer(agents)
    assert {writer for writer, _ in blame(agents, "a")} == {step}
    assert reviewer.pending().keys() == {"a"}


def test_a_pull_is_nobodys(place: tuple[Agents, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agents, folder = place
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(folder), str(other))
    with monkeypatch.context() as context:
        for name, value in LONG_AGO.items():
            context.setitem(ENVIRONMENT, name, value)
        commit(other, "pulled", "pulled\n")
    commit(folder, "mine", "mine\n")
    agents.step("s", lambda: git(folder, "-c", "pull.rebase=true", "pull", "-q", str(other), "main"))
    assert (folder / "pulled").exists()
    reviewer = Reviewer(agents)
    assert reviewer.pending() == {}
    assert blame(agents, "pulled") == [("before", 1)]


def test_a_stash_entry_from_before_is_nobodys(place: tuple[Agents, Path]) -> None:
    agents, folder = place
    agents.bench.write({"a": b"one\nstashed\ntwo\n", "untracked": b"u\n"})
    git(folder, "stash", "-qu")
    agents.step("s", lambda: git(folder, "stash", "pop", "-q"))
    assert (folder / "untracked").exists()
    reviewer = Reviewer(agents)
    assert reviewer.pending() == {}
    assert blame(agents, "untracked") == [("before", 1)]


def test_a_checkout_in_an_open_step_is_nobodys(place: tuple[Agents, Path]) -> None:
    agents, folder = place
    agents.begin("s")
    git(folder, "checkout", "-q", "topic")
    assert blame(agents, "a") == [("before", 3)]
    assert Reviewer(agents).pending() == {}
