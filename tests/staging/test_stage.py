"""What is staged of files that several agents and the user edited; git says what is in the index."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from snapd.core.actions.undo.steps import UndoRequest
from snapd.core.operations.runner import OperationOptions
from snapd.model.call import Call
from tests.staging.project import Project, reasons
from tests.support.sessions import TEXT, text
from tests.support.workspace import Symlink

pytestmark = pytest.mark.timeout(60)
PLAIN = "100644"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project.made(tmp_path, {"a.txt": TEXT, "b.txt": b"b\n", "sub/c.txt": TEXT})


def test_only_what_the_steps_changed(project: Project) -> None:
    first = project.work("A", {"a.txt": text(l2=b"A"), "new.txt": b"new\n"})
    project.bench.write({"a.txt": text(l2=b"A", l9=b"user"), "new.txt": b"new\nuser\n", "mine.txt": b"user\n"})
    project.work("B", {"a.txt": text(l2=b"A", l9=b"user", l12=b"B"), "sub/c.txt": text(l1=b"B")})
    project.work("A", {"a.txt": text(l2=b"AA", l9=b"user", l12=b"B"), "new.txt": b"NEW\nuser\n"})
    committed = project.texts()
    plan = project.stage(["A"])
    assert (plan.conflicts, plan.left, len(plan.files)) == ({}, {}, 2)
    assert project.texts() == {**committed, "a.txt": text(l2=b"AA"), "new.txt": b"NEW\n"}
    # again: nothing to do
    assert project.stage(["A"]).files == ()
    project.unstage()
    project.stage(steps=[first])
    assert project.texts() == {**committed, "a.txt": text(l2=b"A"), "new.txt": b"new\n"}
    project.unstage()
    project.stage(["A", "B"])
    assert project.texts() == {
        **committed,
        "a.txt": text(l2=b"AA", l12=b"B"),
        "new.txt": b"NEW\n",
        "sub/c.txt": text(l1=b"B"),
    }


def test_a_dry_run_writes_nothing(project: Project) -> None:
    project.work("A", {"a.txt": text(l2=b"A"), "new.txt": b"new\n"})
    objects, index = project.git("count-objects", "-v"), project.index()
    assert len(project.stage(["A"], dry_run=True).files) == 2
    assert (project.git("count-objects", "-v"), project.index()) == (objects, index)


def test_what_the_index_has_already_stays(project: Project) -> None:
    project.work("A", {"a.txt": text(l2=b"A"), "b.txt": b"A\n"})
    project.bench.write({"a.txt": text(l2=b"A", l15=b"user")})
    project.git("add", "b.txt")
    project.bench.write({"sub/c.txt": b"user\n"})
    project.git("add", "sub/c.txt")
    plan = project.stage(["A"])
    assert (plan.others, len(plan.files)) == (1, 1)
    assert project.texts() == {"a.txt": text(l2=b"A"), "b.txt": b"A\n", "sub/c.txt": b"user\n"}


def test_nothing_is_staged_where_one_file_conflicts(project: Project) -> None:
    project.work("A", {"a.txt": text(l2=b"A"), "b.txt": b"A\n"})
    project.bench.write({"a.txt": text(l2=b"user")})
    project.git("add", "a.txt")
    project.bench.write({"a.txt": text(l2=b"A")})
    before = project.index()
    assert reasons(project.stage(["A"])) == {"a.txt": "changedSince"}
    assert project.index() == before


def test_what_others_changed_since_and_the_index_has(project: Project) -> None:
    project.work("A", {"a.txt": text(l2=b"A", l15=b"A"), "b.txt": b"A\n"})
    project.bench.write({"a.txt": text(l2=b"user")})
    project.git("add", "a.txt")
    # nothing of it is left in the file
    plan = project.stage(["A"])
    assert (plan.left, plan.conflicts) == ({b"a.txt": "changedSince"}, {})
    assert project.texts() == {"a.txt": text(l2=b"user"), "b.txt": b"A\n", "sub/c.txt": TEXT}
    project.commit()
    assert project.stage(["A"]).left == {}
    # what comes later is staged all the same, and what is left of the first change too
    project.bench.write({"a.txt": text(l2=b"user", l9=b"more", l15=b"A")})
    project.work("A", {"a.txt": text(l2=b"user", l6=b"A", l9=b"more", l15=b"A"), "sub/c.txt": text(l1=b"A")})
    assert project.stage(["A"]).conflicts == {}
    assert project.texts()["a.txt"] == text(l2=b"user", l6=b"A", l15=b"A")


def test_a_file_that_others_edited_before_they_committed_it(project: Project) -> None:
    project.work("A", {"new.txt": TEXT})
    project.bench.write({"new.txt": text(l3=b"user")})
    project.commit("--all-files")
    project.bench.write({"new.txt": text(l3=b"user", l9=b"user")})
    project.work("A", {"new.txt": text(l3=b"user", l9=b"user", l15=b"A")})
    assert project.stage(["A"]).conflicts == {}
    assert project.texts()["new.txt"] == text(l3=b"user", l15=b"A")
    project.unstage()
    # another file of that name
    other = project.git("hash-object", "-w", "--stdin", data=b"another\n").decode().strip()
    project.git("update-index", "--cacheinfo", PLAIN, other, "new.txt")
    assert reasons(project.stage(["A"])) == {"new.txt": "occupied"}


def test_changes_are_staged_in_pieces_as_they_come(project: Project) -> None:
    """The same lines change again after each commit."""
    project.bench.write({"a.txt": text(l9=b"u0")})
    for number in range(1, 5):
        project.work("A", {"a.txt": text(l2=b"A%d" % number, l9=b"u%d" % (number - 1))})
        project.bench.write({"a.txt": text(l2=b"A%d" % number, l9=b"u%d" % number)})
        assert project.stage(["A"]).conflicts == {}
        assert project.texts()["a.txt"] == text(l2=b"A%d" % number)
        project.commit()
    # all at once, the user's too; then on
    project.commit("--all-files")
    project.bench.write({"a.txt": text(l2=b"user", l9=b"u4")})
    project.commit("--all-files")
    project.work("A", {"a.txt": text(l2=b"user", l9=b"u4", l12=b"more")})
    assert project.stage(["A"]).conflicts == {}
    assert project.texts()["a.txt"] == text(l2=b"user", l9=b"u4", l12=b"more")


def test_two_agents_whose_work_was_staged_up_to_different_steps(project: Project) -> None:
    project.work("A", {"a.txt": text(l2=b"A1")})
    project.work("B", {"a.txt": text(l2=b"A1", l12=b"B1")})
    project.stage(["A", "B"])
    project.work("B", {"a.txt": text(l2=b"A1", l12=b"B2")})
    project.work("A", {"a.txt": text(l2=b"A2", l12=b"B2")})
    project.stage(["A"])
    assert project.texts()["a.txt"] == text(l2=b"A2", l12=b"B1")
    # B's line is what it was, and the index has what it was in between
    project.work("B", {"a.txt": text(l2=b"A2")})
    assert project.stage(["A", "B"]).conflicts == {}
    assert project.texts()["a.txt"] == text(l2=b"A2")


def test_what_comes_back_is_staged(project: Project) -> None:
    project.work("A", {"a.txt": text(l2=b"A")})
    project.stage(["A"])
    project.commit()
    project.bench.write({"a.txt": text(l2=b"A", l9=b"user")})
    project.work("A", {"a.txt": text(l9=b"user")})
    assert len(project.stage(["A"]).files) == 1
    assert project.texts()["a.txt"] == TEXT


def test_what_was_undone_is_not_staged(project: Project) -> None:
    step = project.work("A", {"a.txt": text(l2=b"A", l15=b"A"), "new.txt": b"1\n2\n3\n"})
    project.revert_hunks(step, "a.txt", [0])
    assert project.stage(["A"]).conflicts == {}
    assert project.texts()["a.txt"] == text(l15=b"A")
    project.unstage()
    project.bench.workspace.undo_steps.undo(UndoRequest(), OperationOptions("merge", False, False), Call())
    project.stage(["A"])
    assert project.texts()["a.txt"] == text(l2=b"A", l15=b"A")
    project.unstage()
    last = project.work("A", {"a.txt": text(l2=b"A", l15=b"B")})
    project.undo("A", step=last)
    project.stage(["A"])
    assert project.texts()["a.txt"] == text(l2=b"A", l15=b"A")
    assert project.stage(steps=[last]).files == ()
    project.unstage()
    project.revert_files(step, "a.txt")
    project.stage(["A"])
    assert project.texts() == {"a.txt": TEXT, "b.txt": b"b\n", "sub/c.txt": TEXT, "new.txt": b"1\n2\n3\n"}
    project.unstage()
    project.undo("A", count=9)
    assert project.stage(["A"]).files == ()


def test_what_the_user_threw_away_as_a_whole(project: Project) -> None:
    project.work("A", {"a.txt": text(l2=b"A")})
    project.git("checkout", "--", "a.txt")
    project.work("A", {"a.txt": text(l15=b"A")})
    project.stage(["A"])
    # the second step began with the very file that the index has
    assert project.texts()["a.txt"] == text(l15=b"A")
    project.commit()
    project.bench.write({"a.txt": text(l9=b"user", l15=b"A")})
    project.work("A", {"a.txt": text(l6=b"A", l9=b"user", l15=b"A")})
    for _ in range(2):
        assert project.stage(["A"]).conflicts == {}
        assert project.texts()["a.txt"] == text(l6=b"A", l15=b"A")


def test_a_hunk_of_another_step_that_was_taken_back(project: Project) -> None:
    first = project.work("A", {"a.txt": text(l2=b"A")})
    project.stage(["A"])
    project.commit()
    second = project.work("A", {"a.txt": text(l2=b"A", l15=b"A")})
    project.revert_hunks(first, "a.txt", [0])
    # the commit has the hunk, and to take that out is no change of the second step
    assert project.stage(steps=[second]).conflicts == {}
    assert project.texts()["a.txt"] == text(l2=b"A", l15=b"A")


def test_a_deletion_that_was_taken_back(project: Project) -> None:
    project.work("A", {"new.txt": b"1\n2\n3\n"})
    step = project.step("A", lambda: project.bench.remove("new.txt"))
    project.revert_files(step, "new.txt")
    project.stage(["A"])
    assert project.texts()["new.txt"] == b"1\n2\n3\n"


def test_deletions_and_moves(project: Project) -> None:
    project.bench.write({"sub/c.txt": text(l15=b"user")})

    def move() -> None:
        project.bench.remove("b.txt", "sub/c.txt")
        project.bench.write({"moved/d.txt": text(l2=b"A", l15=b"user")})

    project.step("A", move)
    project.step("A", lambda: os.rename(project.bench.path("moved/d.txt"), project.bench.path("e.txt")))
    plan = project.stage(["A"])
    assert [(file.path, file.source) for file in plan.files] == [(b"b.txt", None), (b"e.txt", b"sub/c.txt")]
    assert project.texts() == {"a.txt": TEXT, "e.txt": text(l2=b"A")}
    project.commit()
    project.work("A", {"e.txt": text(l2=b"A", l5=b"A", l15=b"user")})
    assert project.stage(["A"]).conflicts == {}
    assert project.texts() == {"a.txt": TEXT, "e.txt": text(l2=b"A", l5=b"A")}
    project.unstage()


def test_a_file_that_git_does_not_know_yet(project: Project) -> None:
    project.bench.write({"mine.txt": TEXT})
    project.work("A", {"mine.txt": text(l2=b"A")})
    assert reasons(project.stage(["A"])) == {"mine.txt": "deletedSince"}
    project.git("add", "-N", "mine.txt")
    assert reasons(project.stage(["A"])) == {"mine.txt": "deletedSince"}


def test_a_file_that_is_announced(project: Project) -> None:
    project.work("A", {"new.txt": b"A\n", "empty.txt": b""})
    project.git("add", "-N", "new.txt", "empty.txt")
    assert project.stage(["A"]).conflicts == {}
    assert (project.texts()["new.txt"], project.git("diff", "--stat")) == (b"A\n", b"")


def test_two_agents_at_once(project: Project) -> None:
    one, two = project.begin("A"), project.begin("B")
    project.bench.write({"a.txt": text(l2=b"?")})
    project.end(one)
    project.end(two)
    plan = project.stage(["A"])
    assert (reasons(plan), plan.shared) == ({"a.txt": "shared"}, {b"a.txt": (two,)})
    assert project.stage(["A"], [two]).conflicts == {}
    assert project.texts()["a.txt"] == text(l2=b"?")


def test_modes_symlinks_and_binary_files(project: Project) -> None:
    files = {"run.sh": b"#!/bin/sh\n", "data": b"\0\1\2", "file": b"f\n"}
    project.bench.write({**files, "link": Symlink(b"a.txt"), "old": Symlink(b"b.txt")})
    project.commit("--all-files")

    def work() -> None:
        os.chmod(project.bench.path("run.sh"), 0o755)
        project.bench.remove("file", "link")
        project.bench.write({"data": b"\0\1\3", "link": b"no link\n", "file": Symlink(b"a.txt")})
        project.bench.write({"made": Symlink(b"b.txt"), "old": Symlink(b"a.txt")})

    project.step("A", work)
    before = project.index()
    assert project.stage(["A"]).conflicts == {}
    assert project.index() == before | {
        "run.sh": ("100755", b"#!/bin/sh\n"),
        "data": (PLAIN, b"\0\1\3"),
        "link": (PLAIN, b"no link\n"),
        "file": ("120000", b"a.txt"),
        "made": ("120000", b"b.txt"),
        "old": ("120000", b"a.txt"),
    }
    assert project.git("status", "--porcelain", "-uno").count(b"\n") == 6
    assert project.git("diff") == b""
    project.unstage()
    # half of a binary file is nothing
    project.git(
        "update-index",
        "--cacheinfo",
        PLAIN,
        project.git("hash-object", "-w", "--stdin", data=b"\0\7").decode().strip(),
        "data",
    )
    assert reasons(project.stage(["A"])) == {"data": "changedSince"}


def test_git_looks_at_no_modes(tmp_path: Path) -> None:
    project = Project.made(tmp_path, {"a.txt": TEXT, "run.sh": b"1\n"}, core_fileMode="false")
    project.git("update-index", "--chmod=+x", "run.sh")
    project.commit()

    def work() -> None:
        project.bench.write({"a.txt": text(l2=b"A"), "run.sh": b"2\n", "new.sh": b"3\n"})
        os.chmod(project.bench.path("a.txt"), 0o755)
        os.chmod(project.bench.path("new.sh"), 0o755)

    project.step("A", work)
    project.stage(["A"])
    assert project.index() == {"a.txt": (PLAIN, text(l2=b"A")), "run.sh": ("100755", b"2\n"), "new.sh": (PLAIN, b"3\n")}


def test_names_of_all_kinds(project: Project) -> None:
    names = [
        "with space",
        "tab\there",
        'quo"te',
        "line\nfeed",
        "back\\slash",
        "ünïcode",
        ":(top)x",
        "-dash",
        "sp/[a]*?",
    ]
    bad = os.fsdecode(b"not\xff-utf8")
    project.work("A", dict.fromkeys((*names, bad), b"1\n"))
    plan = project.stage(["A"])
    assert (plan.conflicts, plan.left) == ({}, {})
    texts = project.texts()
    assert {name: texts[name] for name in (*names, bad)} == dict.fromkeys((*names, bad), b"1\n")
    assert project.git("status", "--porcelain", "-z").count(b"A  ") == 10
    project.unstage()


def test_a_file_where_the_index_has_a_directory(project: Project) -> None:
    def work() -> None:
        project.bench.remove("sub")
        project.bench.write({"sub": b"a file\n"})

    project.step("A", work)
    assert project.stage(["A"]).conflicts == {}
    assert project.texts() == {"a.txt": TEXT, "b.txt": b"b\n", "sub": b"a file\n"}
    project.unstage()
    project.git(
        "update-index",
        "--add",
        "--cacheinfo",
        PLAIN,
        project.git("rev-parse", "HEAD:b.txt").decode().strip(),
        "sub/more",
    )
    assert reasons(project.stage(["A"])) == {"sub": "occupied"}


def test_before_the_first_commit(tmp_path: Path) -> None:
    project = Project.made(tmp_path, {})
    project.git("update-ref", "-d", "HEAD")
    project.work("A", {"a.txt": b"A\n"})
    project.bench.write({"b.txt": b"user\n"})
    assert len(project.stage(["A"]).pending) == 1
    assert project.texts() == {"a.txt": b"A\n"}
