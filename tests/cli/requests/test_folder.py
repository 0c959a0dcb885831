"""Which folder a command works on, wherever in it it is started."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from tests.cli.steps import put
from tests.support.git import run_git

if TYPE_CHECKING:
    from tests.cli.running import Home, Result


@pytest.fixture
def inside(project: str) -> str:
    """A folder of the project, two levels down."""
    folder = os.path.join(project, "src", "deep")
    os.makedirs(folder)
    put(folder, {"here.txt": b"1\n"})
    return folder


def used(result: Result) -> str:
    """The folder that a command used."""
    assert result.code == 0, result
    return str(result.json["workspaceUri"]).removeprefix("file://")


def test_the_folder_around_that_has_a_history(home: Home, project: str, inside: str) -> None:
    tree = home.ok(project, "track").strip()
    assert home.run(project, "status").err == ""
    found = home.run(inside, "status", "--json")
    assert (used(found), found.err) == (project, f"snapd: in {project}; --here stays in this folder\n")
    put(inside, {"here.txt": b"2\n"})
    assert b"src/deep/here.txt" in home.run(inside, "patch", tree).out
    assert home.run(inside, "revert", "--yes", tree, "here.txt").code == 0
    with open(os.path.join(inside, "here.txt"), "rb") as file:
        assert file.read() == b"1\n"
    for command in ("fsck", "du"):
        done = home.run(inside, command)
        assert (done.code, project in done.err) == (0, True)


def test_a_session_without_a_snapshot_is_a_history(home: Home, project: str, inside: str) -> None:
    step = home.ok(project, "step", "begin", "--session", "s").strip()
    ended = home.run(inside, "step", "end", step)
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.parametrize("kind", ["repository", "worktree"])
def test_else_the_root_of_the_git_work_tree(home: Home, project: str, inside: str, kind: str) -> None:
    if kind == "repository":
        run_git(project, "init", "-q")
    else:
        put(project, {".git": b"gitdir: /nowhere\n"})
    assert used(home.run(inside, "status", "--json")) == project


def test_else_this_folder(home: Home, inside: str) -> None:
    found = home.run(inside, "status", "--json")
    assert (used(found), found.err) == (inside, "")


def test_a_home_that_is_a_work_tree_is_not_used(own_home: Home) -> None:
    home = own_home.env["HOME"]
    put(home, {".git": b"gitdir: /nowhere\n", "work/notes/a.txt": b"1\n"})
    folder = os.path.join(home, "work", "notes")
    assert used(own_home.run(folder, "status", "--json")) == folder


def test_here_insists(home: Home, project: str, inside: str) -> None:
    home.ok(project, "track")
    found = home.run(inside, "status", "--here", "--json")
    assert (used(found), found.err) == (inside, "")
    # nothing was begun there
    assert used(home.run(inside, "status", "--json")) == project
    assert home.run(inside, "track", "--here").code == 0
    assert used(home.run(inside, "status", "--json")) == inside


def test_folders_that_overlap_are_named(home: Home, project: str, inside: str) -> None:
    assert home.run(inside, "track", "--here").code == 0
    home.ok(project, "track")
    for folder, other in ((project, inside), (inside, project)):
        assert f"overlaps  {other} has snapshots of the same files" in home.ok(folder, "status")
        checks = home.run(folder, "doctor", "--json").json["checks"]
        (found,) = [check for check in checks if check["check"] == "overlaps"]
        assert (found["ok"], other in found["found"]) == (False, True)
    assert home.run(inside, "purge", "--workspace", "--yes").code == 0
    assert "overlaps" not in home.ok(project, "status")


def test_a_repository_in_a_folder_is_its_own(home: Home, project: str, inside: str) -> None:
    home.ok(project, "track")
    run_git(inside, "init", "-q")
    found = home.run(inside, "status", "--json")
    assert used(found) == inside
    assert found.err == (
        f"snapd: no snapshots of {inside} itself yet; {project} has its files: 'snapd -C {project}' works there\n"
    )
    # the snapshots of the folder around it have its files
    assert f"{os.path.relpath(inside, project)}/" in home.ok(project, "files", "last")
    assert home.run(inside, "track").code == 0
    assert home.run(inside, "status", "--json").err == ""
    assert f"overlaps  {inside} has snapshots of the same files" in home.ok(project, "status")


def test_it_begins_at_the_directory_that_is_named(home: Home, project: str, inside: str) -> None:
    home.ok(project, "track")
    assert used(home.run("/", "-C", inside, "status", "--json")) == project


def test_a_command_that_is_recorded_runs_where_it_was_started(home: Home, project: str, inside: str) -> None:
    home.ok(project, "track")
    done = home.run(inside, "run", "--", "sh", "-c", "pwd; echo more >> here.txt")
    assert (done.code, done.out.decode()) == (0, f"{inside}\n")
    (entry,) = [row for row in json.loads(home.ok(project, "log", "--json"))["entries"] if row["files"]]
    assert [row["file"] for row in entry["files"]] == ["src/deep/here.txt"]
