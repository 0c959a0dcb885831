"""Where git states are recorded, whose changes they are, and where they are not recorded; judged by git."""

from __future__ import annotations

import errno
import itertools
import os
import shutil
from pathlib import Path
from typing import get_args

import pytest

from snapd.core.actions.history import HistoryQuery
from snapd.model.call import Call
from snapd.model.git import GitChange, GitReason, LeftReason, Pair, RefChange
from snapd.wire.words import GIT_PART_REASONS, GIT_REASONS
from snapd.worktree.git.repository import Repository, nested_repository
from tests.support.git import run_git
from tests.support.sessions import Agents, at_work

from .oracle import State, change, git


def test_every_reason_has_words() -> None:
    assert GIT_REASONS.keys() == set(get_args(GitReason))
    assert GIT_PART_REASONS.keys() == set(get_args(LeftReason))


def repository(tmp_path: Path, *options: str) -> tuple[Agents, Path]:
    agents = at_work(tmp_path, {"a": b"1\n", "d/b": b"2\n"})
    folder = Path(agents.bench.root)
    git(folder, "init", "-qb", "main", *options)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    agents.start("s")
    agents.step("s", {"c": b"x\n"})
    return agents, folder


def users(agents: Agents) -> list[GitChange | None]:
    """What the user changed of git, the latest first."""
    entries = agents.bench.workspace.history.page(HistoryQuery(), None, 1000, Call()).entries
    return [entry.git for entry in entries if entry.kind == "user"]


def test_what_happens_between_steps_is_the_users(tmp_path: Path) -> None:
    agents, folder = repository(tmp_path)
    before = State.of(folder)
    git(folder, "branch", "topic")
    step = agents.step("s", lambda: git(folder, "checkout", "-q", "topic"))
    assert agents.view(step).git == GitChange(Pair("refs/heads/main", "refs/heads/topic"))
    assert users(agents)[0] == GitChange(refs=(RefChange("refs/heads/topic", None, before.refs["refs/heads/main"]),))
    # packed or not, a ref is the same
    git(folder, "pack-refs", "--all")
    agents.step("s", {"c": b"y\n"})
    assert len(users(agents)) == 1


def test_a_step_that_names_its_files_owns_no_change(tmp_path: Path) -> None:
    agents, folder = repository(tmp_path)
    step = agents.begin("s")
    git(folder, "tag", "v1")
    assert agents.end(step, ["c"]).git is None
    assert [each.ref for each in users(agents)[0].refs] == ["refs/tags/v1"]  # type: ignore[union-attr]


def test_a_part_owns_what_it_did_and_the_whole_shows_it(tmp_path: Path) -> None:
    agents, folder = repository(tmp_path)
    whole = agents.begin("s")
    first = State.of(folder)
    git(folder, "branch", "one")
    part = agents.begin("s", parent=whole)
    git(folder, "branch", "two")
    agents.end(part)
    assert [each.ref for each in agents.view(part).git.refs] == ["refs/heads/two"]  # type: ignore[union-attr]
    assert agents.end(whole).git == change(first, State.of(folder))


def test_a_change_that_is_taken_back_in_the_step_is_none(tmp_path: Path) -> None:
    agents, folder = repository(tmp_path)
    whole = agents.begin("s")
    agents.step("s", lambda: git(folder, "tag", "v1"), parent=whole)
    agents.step("s", lambda: git(folder, "tag", "-d", "v1"), parent=whole)
    assert agents.end(whole).git is None


def test_a_linked_work_tree(tmp_path: Path) -> None:
    agents = at_work(tmp_path)
    folder, main = Path(agents.bench.root), tmp_path / "main"
    main.mkdir()
    git(main, "init", "-qb", "main")
    git(main, "commit", "-q", "--allow-empty", "-m", "x")
    folder.rmdir()
    git(main, "worktree", "add", "-q", "-b", "topic", str(folder))
    agents.bench.reopen()
    agents.start("s")
    agents.step("s", {"a": b"1\n"})
    states = [State.of(folder)]
    for words in ("add -A", "commit -qm y", "checkout -q --detach", "branch -f main", "stash"):
        agents.bench.write({"a": words.encode()})
        step = agents.step("s", lambda words=words: git(folder, *words.split()))
        states.append(State.of(folder))
        assert agents.view(step).git == change(*states[-2:]), words


@pytest.mark.parametrize("where", ["sha256", "subfolder", "reftable"])
def test_what_is_not_recorded_is_said(tmp_path: Path, where: str) -> None:
    agents = at_work(tmp_path, {"a": b"1\n"})
    folder = Path(agents.bench.root)
    if where == "subfolder":
        git(folder.parent, "init", "-q")
    else:
        git(folder, "init", "-q", *(["--object-format=sha256"] if where == "sha256" else []))
    if where == "reftable":
        # as a git that knows it makes it
        (folder / ".git/reftable").mkdir()
    agents.start("s")
    agents.step("s", {"b": b"x"})
    step = agents.step("s", lambda: git(folder, "add", "-A"))
    assert agents.view(step).git is None
    assert agents.bench.workspace.snapshots.status().git_reason == where


def test_the_setting_turns_it_off_and_nobody_owns_what_happens_meanwhile(tmp_path: Path) -> None:
    agents, folder = repository(tmp_path)
    agents.bench.options.give({"git_state": False})
    step = agents.step("s", lambda: git(folder, "tag", "v1"))
    assert agents.view(step).git is None
    agents.bench.options.give({"git_state": True})
    step = agents.step("s", lambda: git(folder, "tag", "v2"))
    assert [each.ref for each in agents.view(step).git.refs] == ["refs/tags/v2"]  # type: ignore[union-attr]
    assert not any(users(agents))


def test_the_state_outlasts_the_events_before_it(tmp_path: Path) -> None:
    agents, folder = repository(tmp_path)
    agents.bench.workspace.sessions.end("s", Call())
    agents.start("t")
    step = agents.step("t", lambda: git(folder, "tag", "v1"))
    agents.bench.workspace.sessions.end("one", Call())
    agents.bench.workspace.upkeep.cleanup(0, Call())
    agents.bench.reopen()
    assert agents.bench.workspace.store.timeline.session("s") is None
    assert [each.ref for each in agents.view(step).git.refs] == ["refs/tags/v1"]  # type: ignore[union-attr]
    report = agents.bench.workspace.upkeep.check(Call(), quick=False)
    assert not report.problems
    assert run_git(agents.bench.store, "--git-dir=.", "fsck", "--strict", "--full", "--no-dangling") == b""


def test_odd_names_and_many_refs(tmp_path: Path) -> None:
    agents, folder = repository(tmp_path)
    states = [State.of(folder)]

    def make_refs() -> None:
        git(folder, "branch", "ünïcode/ß")
        for number in range(40):
            git(folder, "branch", f"deep/{number}/x")
        (folder / ".git/refs/heads/deep/0/x.lock").write_bytes(b"")

    step = agents.step("s", make_refs)
    (folder / ".git/refs/heads/deep/0/x.lock").unlink()
    states.append(State.of(folder))
    assert agents.view(step).git == change(*states)
    step = agents.step("s", lambda: (git(folder, "pack-refs", "--all"), git(folder, "branch", "-D", "deep/3/x")))
    assert [each.ref for each in agents.view(step).git.refs] == ["refs/heads/deep/3/x"]  # type: ignore[union-attr]


def test_a_broken_repository_holds_up_nobody(tmp_path: Path) -> None:
    agents, folder = repository(tmp_path)
    for path, data in (("HEAD", b"ref: refs/heads/main"), ("index", b"nonsense"), ("packed-refs", b"\0" * 99)):
        (folder / ".git" / path).write_bytes(data)
        step = agents.step("s", {"c": path.encode()})
        assert [file.path for file in agents.view(step).files or ()] == [b"c"]
    shutil.rmtree(folder / ".git/objects")
    os.mkfifo(folder / ".git/MERGE_HEAD")
    step = agents.step("s", {"c": b"more"})
    assert [file.path for file in agents.view(step).files or ()] == [b"c"]


def test_an_old_git_with_symlinks_for_refs(tmp_path: Path) -> None:
    agents, folder = repository(tmp_path)
    git(folder, "branch", "topic")
    agents.step("s", {"c": b"z"})

    def link() -> None:
        (folder / ".git/HEAD").unlink()
        (folder / ".git/HEAD").symlink_to("refs/heads/topic")

    step = agents.step("s", link)
    assert agents.view(step).git == GitChange(Pair("refs/heads/main", "refs/heads/topic"))


def test_a_sparse_index(tmp_path: Path) -> None:
    agents, folder = repository(tmp_path)
    agents.bench.write({f"{above}/{name}": b"x" for above in ("in", "out", "out/deep") for name in ("1", "2")})
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "more")
    step = agents.step("s", lambda: git(folder, "sparse-checkout", "set", "--cone", "--sparse-index", "in"))
    assert agents.view(step).git is None
    for words in ("rm -q --cached in/1", "reset -q --soft HEAD~1", "reset -q", "update-index --no-skip-worktree out/1"):
        before = State.of(folder)
        step = agents.step("s", lambda words=words: git(folder, *words.split()))
        assert agents.view(step).git == change(before, State.of(folder)), words


def test_a_state_that_changes_while_it_is_read_waits_for_the_next_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents, folder = repository(tmp_path)
    times = itertools.count(1)

    def at_work(root: bytes) -> Repository | None:
        os.utime(folder / ".git", (next(times), next(times)))
        return nested_repository(root)

    with monkeypatch.context() as patch:
        patch.setattr("snapd.gitstate.read.nested_repository", at_work)
        step = agents.step("s", lambda: git(folder, "tag", "v1"))
        assert agents.view(step).git is None
        step = agents.begin("s")
    agents.end(step)
    assert [each.ref for each in agents.view(step).git.refs] == ["refs/tags/v1"]  # type: ignore[union-attr]


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EIO])
def test_an_error_that_passes_is_no_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    agents, folder = repository(tmp_path)
    step = agents.begin("s")
    git(folder, "tag", "v1")
    with monkeypatch.context() as patch:

        def fail(_: object) -> None:
            raise OSError(number, os.strerror(number))

        patch.setattr("snapd.gitstate.read.nested_repository", lambda _: None)
        part = agents.step("s", {"c": b"1"})
        assert agents.view(part).git is None
        patch.undo()
        patch.setattr("snapd.gitstate.read.nested_repository", fail)
        part = agents.step("s", {"c": b"2"})
        assert agents.view(part).git is None
    git(folder, "tag", "v2")
    assert agents.end(step).git is not None
    assert "deleted" not in {each.repository for each in users(agents) if each}
