"""Undo and redo of a step whose change is not in the files now: it is on another branch, in a stash, or gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from snapd.model.errors import NothingToRedo
from tests.support.git import run_git
from tests.support.sessions import Agents, at_work

if TYPE_CHECKING:
    from pathlib import Path

LINES = b"one\ntwo\nthree\nfour\nfive\n"


@pytest.fixture
def agents(tmp_path: Path) -> Agents:
    agents = at_work(tmp_path, {"m": LINES, "other": b"o\n"}, git=True)
    git(agents, "symbolic-ref", "HEAD", "refs/heads/main")
    git(agents, "add", "-A")
    git(agents, "commit", "-qm", "first")
    git(agents, "branch", "-q", "older")
    return agents


def git(agents: Agents, *command: str) -> bytes:
    return run_git(agents.bench.root, *command)


def places(agents: Agents, **wanted: object) -> dict[str, tuple[str | None, str | None]]:
    outcome, _ = agents.undone("one", **wanted)  # type: ignore[arg-type]
    assert outcome.before == outcome.after
    return {file.path.decode(): (file.reason, file.branch and file.branch.decode()) for file in outcome.files}


def committed_elsewhere(agents: Agents) -> tuple[str, str]:
    first = agents.step("one", {"other": b"agent\n"})
    git(agents, "checkout", "-qb", "topic")
    step = agents.step("one", {"m": LINES.replace(b"two", b"agent")})
    git(agents, "commit", "-qm", "agent", "m")
    git(agents, "checkout", "-q", "main")
    return first, step


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("packed", [False, True])
def test_a_step_on_another_branch_stays_applied(agents: Agents, named: bool, packed: bool) -> None:
    _, step = committed_elsewhere(agents)
    if packed:
        git(agents, "pack-refs", "--all")
        git(agents, "gc", "-q")
    wanted = {"step": step} if named else {}
    for _ in range(2):
        assert places(agents, **wanted) == {"m": ("onBranch", "topic")}
        assert agents.states("one") == ["applied", "applied"]
    with pytest.raises(NothingToRedo):
        agents.redo("one")
    git(agents, "checkout", "-q", "topic")
    assert agents.undo("one", **wanted) == {"m": "restored"}  # type: ignore[arg-type]
    assert agents.bench.read()["m"] == LINES
    assert agents.states("one") == ["applied", "undone"]


def test_a_branch_that_went_on_is_named_and_others_are_not(agents: Agents) -> None:
    _, step = committed_elsewhere(agents)
    git(agents, "checkout", "-q", "topic")
    agents.step("one", {"m": LINES.replace(b"two", b"agent").replace(b"five", b"later")})
    git(agents, "commit", "-qam", "later")
    git(agents, "checkout", "-q", "older")
    assert places(agents, step=step) == {"m": ("onBranch", "topic")}


@pytest.mark.parametrize("new", [False, True])
def test_a_stashed_step_stays_applied(agents: Agents, new: bool) -> None:
    name = "new" if new else "m"
    agents.step("one", {name: b"agent\n"})
    git(agents, "stash", "-qu")
    agents.bench.write({"other": b"user\n"})
    git(agents, "stash", "-q")
    assert places(agents) == {name: ("stashed", None)}
    git(agents, "stash", "pop", "-q", "stash@{1}")
    assert agents.undo("one") == {name: "restored" if name == "m" else "deleted"}


def test_a_step_whose_change_is_gone_stays_applied_until_it_is_settled(agents: Agents) -> None:
    first = agents.step("one", {"other": b"agent\n"})
    agents.step("one", {"m": b"agent\n"})
    git(agents, "checkout", "m")
    assert places(agents, dry_run=True) == {"m": ("already", None)}
    assert places(agents) == {"m": ("already", None)}
    assert agents.states("one") == ["applied", "applied"]
    assert places(agents, on_conflict="keep") == {"m": (None, None)}
    assert agents.states("one") == ["applied", "undone"]
    assert agents.undone("one")[1] == [first]
    assert agents.bench.read() == {"m": LINES, "other": b"o\n"}


def test_of_a_step_in_part_elsewhere_that_part_stays_in_force(agents: Agents) -> None:
    git(agents, "checkout", "-qb", "topic")
    agents.step("one", {"m": b"agent\n", "new": b"agent\n"})
    git(agents, "commit", "-qam", "agent")
    git(agents, "checkout", "-q", "main")
    assert agents.undo("one") == {"m": "unchanged:onBranch", "new": "deleted"}
    assert agents.states("one") == ["partly"]
    git(agents, "checkout", "-q", "topic")
    assert agents.undo("one") == {"m": "restored"}
    assert agents.states("one") == ["undone"]


def test_a_part_that_is_gone_does_not_keep_a_step_from_being_undone(agents: Agents) -> None:
    agents.step("one", {"m": b"agent\n", "new": b"agent\n"})
    git(agents, "checkout", "m")
    assert agents.undo("one") == {"m": "unchanged", "new": "deleted"}
    assert agents.states("one") == ["undone"]


def test_several_at_once(agents: Agents) -> None:
    committed_elsewhere(agents)
    outcome, _ = agents.undone("one", 2)
    assert [(file.path, file.outcome) for file in outcome.files] == [(b"m", "unchanged"), (b"other", "restored")]
    assert agents.states("one") == ["undone", "applied"]


def test_a_part_elsewhere_leaves_its_empty_step_alone(agents: Agents) -> None:
    git(agents, "checkout", "-qb", "topic")
    step = agents.begin("one")
    part = agents.begin("one", step)
    agents.bench.write({"m": b"agent\n"})
    agents.end(part)
    agents.end(step)
    git(agents, "commit", "-qam", "agent")
    git(agents, "checkout", "-q", "main")
    assert places(agents, step=step) == {"m": ("onBranch", "topic")}
    assert agents.states("one") == ["applied", "applied"]


def test_revert_and_files_and_hunks(agents: Agents) -> None:
    git(agents, "checkout", "-qb", "topic")
    step = agents.step("one", {"m": LINES.replace(b"two", b"agent")}, message="ask")
    git(agents, "commit", "-qam", "agent")
    git(agents, "checkout", "-q", "main")
    assert agents.revert("one", "ask") == {"m": "unchanged:onBranch"}
    assert agents.revert_files(step, "m") == {"m": "unchanged:onBranch"}
    assert agents.revert_hunks(step, "m", [0]) == {"m": "unchanged:onBranch"}
    assert agents.states("one") == ["applied"]
    with pytest.raises(NothingToRedo):
        agents.unrevert("one")


def test_a_redo_of_what_is_there_already_can_be_done_again(agents: Agents) -> None:
    agents.step("one", {"m": b"agent\n"})
    agents.undo("one")
    agents.bench.write({"m": b"agent\n"})
    assert agents.redo("one") == {"m": "unchanged:already"}
    assert agents.states("one") == ["undone"]
    agents.bench.write({"m": LINES})
    assert agents.redo("one") == {"m": "restored"}
    assert agents.states("one") == ["applied"]


def test_what_git_has_is_hostile(agents: Agents) -> None:
    committed_elsewhere(agents)
    heads = agents.bench.root / ".git/refs/heads"
    (heads / "short").write_bytes(b"12\n")
    (heads / "absent").write_bytes(b"1" * 40 + b"\n")
    (heads / "tree").write_bytes(git(agents, "rev-parse", "main^{tree}"))
    (heads / "link").symlink_to("/dev/zero")
    (heads / "loop").symlink_to(heads)
    assert places(agents) == {"m": ("onBranch", "topic")}
