"""Repositories and indexes of all kinds, and when nothing is staged."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from snapd.staging import index as index_module
from snapd.staging.repository import (
    Git,
    GitFailed,
    GitOperationUnderWay,
    IndexChanged,
    IndexLocked,
    NoGitRepository,
    Repository,
)
from tests.staging.project import Project, reasons
from tests.support.git import run_git
from tests.support.sessions import TEXT, text

WORK = {"a.txt": text(l2=b"A"), "new.txt": b"new\n"}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project.made(tmp_path, {"a.txt": TEXT, "b.txt": b"b\n", "sub/c.txt": b"c\n", "far/d/e.txt": b"e\n"})


def git_fails(project: Project, *words: str) -> None:
    """Runs a git command that stops in the middle."""
    with pytest.raises(AssertionError):
        project.git(*words)


def two_branches(project: Project) -> None:
    """A branch `other` with another second line, and this one with yet another."""
    project.git("checkout", "-q", "-b", "other")
    project.bench.write({"a.txt": text(l2=b"other")})
    project.commit("--all-files")
    project.git("checkout", "-q", "-")
    project.bench.write({"a.txt": text(l2=b"this")})
    project.commit("--all-files")


def merge(project: Project) -> None:
    two_branches(project)
    project.git("merge", "--no-commit", "-s", "ours", "other")


def rebase(project: Project) -> None:
    two_branches(project)
    git_fails(project, "rebase", "other")
    project.git("checkout", "--theirs", "a.txt")
    project.git("add", "a.txt")


def apply_mail(project: Project) -> None:
    two_branches(project)
    patch = project.git("format-patch", "-1", "--stdout", "other")
    with pytest.raises(AssertionError):
        project.git("am", data=patch)


def cherry_pick(project: Project) -> None:
    two_branches(project)
    git_fails(project, "cherry-pick", "other")
    project.git("add", "a.txt")


def revert(project: Project) -> None:
    two_branches(project)
    git_fails(project, "revert", "--no-edit", "other")
    project.git("add", "a.txt")


def several_picks(project: Project) -> None:
    """The first of two is committed by hand: what is left is a list of what to do."""
    two_branches(project)
    git_fails(project, "cherry-pick", "other", "other~1")
    project.git("checkout", "--theirs", "a.txt")
    project.git("add", "a.txt")
    project.git("commit", "-q", "-m", "picked")


def bisect(project: Project) -> None:
    project.git("bisect", "start")


@pytest.mark.parametrize(
    ("begin", "said"),
    [
        (merge, "a merge"),
        (rebase, "a rebase"),
        (apply_mail, "'git am'"),
        (cherry_pick, "a cherry-pick"),
        (revert, "a revert"),
        (several_picks, "a cherry-pick"),
        (bisect, "a bisect"),
    ],
)
def test_something_is_under_way(project: Project, begin: object, said: str) -> None:
    assert callable(begin)
    begin(project)
    project.work("A", {"new.txt": b"new\n"})
    before = project.index()
    with pytest.raises(GitOperationUnderWay) as found:
        project.stage(["A"])
    assert found.value.data["operation"].startswith(said)
    assert found.value.hint
    assert project.index() == before


def test_conflicts_of_a_stash(project: Project) -> None:
    project.bench.write({"a.txt": text(l2=b"stashed")})
    project.git("stash", "-q")
    project.bench.write({"a.txt": text(l2=b"this")})
    project.commit("--all-files")
    project.git("stash", "pop")
    project.work("A", {"new.txt": b"new\n"})
    with pytest.raises(GitOperationUnderWay, match=r"a\.txt has conflicts"):
        project.stage(["A"])


def test_the_index_is_locked(project: Project) -> None:
    project.work("A", WORK)
    before = project.index()
    lock = project.bench.root / ".git" / "index.lock"
    lock.touch()
    with pytest.raises(IndexLocked) as found:
        project.stage(["A"])
    assert (found.value.data["path"], project.index()) == (str(lock), before)
    assert project.stage(["A"], dry_run=True).files != ()
    lock.unlink()
    assert project.stage(["A"]).conflicts == {}


@pytest.mark.parametrize("name", ["a.txt", "new.txt", "gone.txt"])
def test_the_index_changes_meanwhile(project: Project, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Somebody stages something between the moment when the index was read and that when git has its lock."""
    project.bench.write({"gone.txt": b"1\n"})
    project.commit("--all-files")
    project.work("A", WORK)
    project.step("A", lambda: project.bench.remove("gone.txt"))
    before = project.texts()
    store = index_module.store

    def staging(repository: Repository, contents: object) -> list[str]:
        other = project.git("hash-object", "-w", "--stdin", data=b"other\n").decode().strip()
        project.git("update-index", "--add", "--cacheinfo", "100644", other, name)
        return store(repository, contents)  # type: ignore[arg-type]

    monkeypatch.setattr("snapd.staging.planning.store", staging)
    with pytest.raises(IndexChanged):
        project.stage(["A"])
    assert project.texts() == before | {name: b"other\n"}


@pytest.mark.parametrize(
    "settings", [{"index_version": "4"}, {"core_splitIndex": "true"}, {"core_untrackedCache": "true"}]
)
def test_kinds_of_indexes(tmp_path: Path, settings: dict[str, str]) -> None:
    project = Project.made(
        tmp_path, {f"f{number}": b"%d\n" % number for number in range(50)} | {"a.txt": TEXT}, **settings
    )
    if "core_splitIndex" in settings:
        assert list((project.bench.root / ".git").glob("sharedindex.*"))
    project.work("A", WORK)
    project.step("A", lambda: project.bench.remove("f7"))
    project.bench.write({"f8": b"user\n"})
    before = project.texts()
    assert project.stage(["A"]).conflicts == {}
    del before["f7"]
    assert project.texts() == before | WORK
    assert project.git("fsck", "--no-dangling") == b""
    project.unstage()


def test_a_sparse_index(project: Project) -> None:
    project.git("sparse-checkout", "set", "--cone", "--sparse-index", "sub")
    assert not (project.bench.root / "far").exists()
    assert b"far/\n" in project.git("ls-files", "--sparse")
    project.work("A", {"a.txt": text(l2=b"A"), "far/d/new.txt": b"new\n", "far/d/e.txt": b"A\n"})
    assert project.stage(["A"]).conflicts == {b"far/d/e.txt": "occupied"}
    project.work("B", {"sub/c.txt": b"B\n", "other/new.txt": b"new\n"})
    assert project.stage(["B"]).conflicts == {}
    assert project.texts()["sub/c.txt"] == b"B\n"
    assert project.texts()["far/d/e.txt"] == b"e\n"
    project.unstage()


@pytest.mark.parametrize("how", ["skip-worktree", "assume-unchanged"])
def test_files_that_git_is_told_to_leave_alone(project: Project, how: str) -> None:
    project.git("update-index", f"--{how}", "a.txt")
    project.work("A", {"a.txt": text(l2=b"A"), "b.txt": b"A\n"})
    reason = {"skip-worktree": "skipWorktree", "assume-unchanged": "assumeUnchanged"}[how]
    before = project.index()
    assert reasons(project.stage(["A"])) == {"a.txt": reason}
    assert project.index() == before
    project.git("update-index", f"--no-{how}", "a.txt")
    assert project.stage(["A"]).conflicts == {}


def test_what_git_ignores_is_left_out(project: Project) -> None:
    project.bench.write({".gitignore": b"*.log\n"})
    project.work("A", {"a.txt": text(l2=b"A"), "kept.tmp": b"1\n"})
    project.bench.write({".gitignore": b"*.log\n*.tmp\n"})
    plan = project.stage(["A"])
    assert (plan.left, plan.conflicts) == ({b"kept.tmp": "ignored"}, {})
    assert "kept.tmp" not in project.texts()
    # git does not ignore what it tracks
    project.git("add", "-f", "kept.tmp")
    project.commit()
    project.bench.write({".gitignore": b"*.log\n"})
    project.work("A", {"kept.tmp": b"2\n"})
    project.bench.write({".gitignore": b"*.log\n*.tmp\n"})
    assert project.stage(["A"]).left == {}
    assert project.texts()["kept.tmp"] == b"2\n"


def test_what_is_in_another_repository_is_left_out(project: Project) -> None:
    project.work("A", {"a.txt": text(l2=b"A"), "lib/x.txt": b"1\n", "module/y.txt": b"1\n"})
    run_git(project.bench.root / "lib", "init", "-q")
    head = project.git("rev-parse", "HEAD").decode().strip()
    project.git("update-index", "--add", "--cacheinfo", "160000", head, "module")
    plan = project.stage(["A"])
    assert plan.left == {b"lib/x.txt": "otherRepository", b"module/y.txt": "otherRepository"}
    assert (plan.conflicts, project.texts()["a.txt"]) == ({}, text(l2=b"A"))
    project.git("rm", "--cached", "-q", "-f", "module")
    assert project.stage(["A"]).left == {b"lib/x.txt": "otherRepository"}
    assert project.texts()["module/y.txt"] == b"1\n"


def test_a_submodule_where_steps_had_a_file(project: Project) -> None:
    head = project.git("rev-parse", "HEAD").decode().strip()
    project.work("A", {"module": b"1\n"})
    project.git("update-index", "--add", "--cacheinfo", "160000", head, "module")
    assert reasons(project.stage(["A"])) == {"module": "occupied"}


def test_a_name_that_git_refuses(project: Project) -> None:
    project.git("config", "core.protectHFS", "true")
    project.work("A", {"a.txt": text(l2=b"A"), "x/.g\u200cit": b"1\n"})
    before = project.index()
    with pytest.raises(GitFailed, match=r"git apply: invalid path"):
        project.stage(["A"])
    assert project.index() == before


def test_a_linked_work_tree_and_a_folder_in_it(tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    origin.mkdir()
    run_git(origin, "init", "-q")
    (origin / "in").mkdir()
    (origin / "in" / "a.txt").write_bytes(TEXT)
    (origin / "b.txt").write_bytes(b"b\n")
    run_git(origin, "add", "--all")
    run_git(origin, "commit", "-q", "-m", "1")
    home = tmp_path / "bench"
    home.mkdir()
    run_git(origin, "worktree", "add", "-q", str(home / "work"))
    from tests.support.workspace import make

    project = Project(make(home, inside="in"))
    project.start("A")
    project.work("A", {"a.txt": text(l2=b"A"), "new.txt": b"new\n"})
    assert project.stage(["A"]).conflicts == {}
    assert project.texts() == {"a.txt": text(l2=b"A"), "new.txt": b"new\n"}
    assert b"in/a.txt" in run_git(home / "work", "diff", "--cached", "--name-only")
    assert run_git(origin, "status", "--porcelain") == b""
    (origin / "b.txt").write_bytes(b"c\n")
    # one is under way in another work tree
    run_git(origin, "bisect", "start")
    project.unstage()
    assert project.stage(["A"]).conflicts == {}


def test_sha256(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    run_git(tmp_path / "work", "init", "-q", "--object-format=sha256")
    project = Project.made(tmp_path, {"a.txt": TEXT, "b.txt": b"b\n"})
    project.work("A", WORK)
    project.step("A", lambda: project.bench.remove("b.txt"))
    assert project.stage(["A"]).conflicts == {}
    assert project.texts() == WORK
    project.unstage()


def test_there_is_no_repository(tmp_path: Path) -> None:
    git = Git.of_user({"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CEILING_DIRECTORIES": str(tmp_path)})
    plain, bare = tmp_path / "plain", tmp_path / "bare"
    for folder in (plain, bare):
        folder.mkdir()
    run_git(bare, "init", "-q", "--bare")
    for folder, said in ((plain, "not a git repository"), (bare, "has no work tree here")):
        with pytest.raises(NoGitRepository, match=said) as found:
            Repository.around(os.fsencode(folder), git)
        assert found.value.hint
    with pytest.raises(GitFailed, match="git cannot be run"):
        Repository.around(os.fsencode(plain), Git.of_user({"PATH": "/nonexistent"}))
