"""What git brings during a step is claimed by no export, and what the agent wrote beside it is its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.authorship.notes import parse
from tests.cli.steps import put
from tests.support.git import run_git

from .test_log_format import lines, records

if TYPE_CHECKING:
    from tests.cli.running import Home

BROUGHT = b"brought 1\nbrought 2\n"
OWN = b"own 1\nown 2\n"
COMMANDS = {
    "checkout": ("checkout", "-q", "topic"),
    "merge": ("merge", "-q", "--no-edit", "topic"),
    "rebase": ("rebase", "-q", "topic"),
    "cherry-pick": ("cherry-pick", "topic"),
    "pull": ("pull", "-q", "--no-rebase", "--no-edit", "elsewhere", "more"),
    "stash pop": ("stash", "pop", "-q"),
}


def commit(folder: str, *words: str) -> None:
    run_git(folder, "add", "--all")
    run_git(folder, "commit", "-q", "-m", "work", *words)


@pytest.fixture
def project_with_branch(project: str) -> str:
    """The project with a second branch, a clone with a third, and a stash entry; each brings the same file."""
    run_git(project, "init", "-qb", "main")
    commit(project)
    clone = f"{project}-elsewhere"
    run_git(project, "clone", "-q", ".", clone)
    run_git(project, "remote", "add", "elsewhere", clone)
    for folder, branch in ((project, "topic"), (clone, "more")):
        run_git(folder, "checkout", "-qb", branch)
        put(folder, {"brought.txt": BROUGHT})
        commit(folder, "--date=2001-02-03T04:05:06Z")
    run_git(project, "checkout", "-q", "main")
    put(project, {"brought.txt": BROUGHT})
    run_git(project, "stash", "-qu")
    put(project, {"mine.txt": b"mine\n"})
    commit(project)
    return project


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("is_committed_in_the_step", [True, False])
def test_nothing_of_it_is_the_agents(
    home: Home, project_with_branch: str, command: str, is_committed_in_the_step: bool
) -> None:
    project = project_with_branch
    step = home.ok(project, "step", "begin", "--session", "S", "--agent", "claude").strip()
    run_git(project, *COMMANDS[command])
    put(project, {"own.txt": OWN})
    if is_committed_in_the_step:
        commit(project)
    home.ok(project, "step", "end", step)
    (pending,) = home.run(project, "review", "--json").json["files"]
    assert pending["file"] == "own.txt"
    brought, own = (home.run(project, "blame", "--json", name).json["lines"] for name in ("brought.txt", "own.txt"))
    assert {each["author"] for each in brought} == {"before"}
    assert [each.get("stepId") for each in own] == [step]
    if not is_committed_in_the_step:
        run_git(project, "reset", "-q")
        home.ok(project, "stage", step)
        assert run_git(project, "diff", "--cached", "--name-only").split() == [b"own.txt"]
        commit(project)
    (record,) = records(home.ok(project, "log", "--format", "agent-trace"))
    assert lines(record, "own.txt") == [("ai", "snapd:session/S", [(1, 2)])]
    claimed = [each["path"] for each in record["files"] if "ai" in {kind for kind, *_ in lines(record, each["path"])}]
    assert claimed == ["own.txt"]
    note = parse(home.ok(project, "log", "--format", "git-ai"))
    assert {name: sorted(of) for name, of in note.files.items()} == {"own.txt": [1, 2]}
    # nor of the commits that brought it
    for name in run_git(project, "rev-list", "HEAD").decode().split()[1:]:
        assert parse(home.ok(project, "log", "--format", "git-ai", name)).files == {}
