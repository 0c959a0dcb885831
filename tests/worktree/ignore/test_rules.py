from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from snapd.store.adopt import ProjectBlobs
from snapd.worktree.fs.listing import list_directory
from snapd.worktree.fs.stable_read import StatCache
from snapd.worktree.git.config import GitUser
from snapd.worktree.ignore import RuleSource
from tests.support.git import run_git
from tests.support.system_calls import counted


def at(path: Path) -> bytes:
    return os.fsencode(path)


class Project:
    """A workspace in a repository, with a user, and the files that its rules rest on."""

    def __init__(self, folder: Path, inside: str) -> None:
        self.repo = folder / "repo"
        self.root = self.repo / inside
        self.home = folder / "home"
        (self.home / ".config" / "git").mkdir(parents=True)
        self.root.mkdir(parents=True)
        run_git(self.repo, "init", "-q")
        (self.root / "file").write_text("x")
        run_git(self.repo, "add", ".")
        self.descriptor = os.open(self.root, os.O_RDONLY)
        user = GitUser(str(self.home), None, str(folder / "system"), "/nonexistent")
        self.source = RuleSource(at(self.root), self.descriptor, user)

    def read(self) -> Any:
        return self.source.read(("*.own",))


@pytest.fixture(params=["", "sub/dir"])
def project(tmp_path: Path, request: pytest.FixtureRequest, clock: Callable[[], None]) -> Iterator[Project]:
    made = Project(tmp_path, request.param)
    yield made
    os.close(made.descriptor)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Lets an hour pass before each look from the call on, so that no stamp is racy."""
    real = time.time_ns

    def pass_an_hour() -> None:
        monkeypatch.setattr(time, "clock_gettime_ns", lambda _: real() + 3600 * 10**9)

    return pass_an_hour


LOOKS = ("stat", "lstat", "access")
OPENS = ("open", "scandir", "listdir", "readlink", "file object")


def test_nothing_changed_opens_nothing(project: Project, clock: Callable[[], None]) -> None:
    clock()
    first = project.read()
    with counted(*LOOKS, *OPENS) as calls:
        again = project.read()
    assert again is first
    assert calls.keys() <= set(LOOKS)
    assert calls.total() <= (14 if project.root == project.repo else 20)


def test_outside_of_a_repository(tmp_path: Path, clock: Callable[[], None]) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    descriptor = os.open(folder, os.O_RDONLY)
    source = RuleSource(at(folder), descriptor, GitUser(str(tmp_path), None, "/nonexistent"))
    clock()
    first = source.read(())
    with counted(*OPENS) as calls:
        assert source.read(()) is first
    assert not calls
    assert source.seed(ProjectBlobs) is None
    run_git(tmp_path, "init", "-q")
    assert source.read(()).prefix == b"plain"
    os.close(descriptor)


def test_a_stamp_that_may_be_racy_is_not_trusted(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    # however long the first look takes, the clock says that it was taken when the newest file was written
    written = max(path.lstat().st_ctime_ns for path in project.repo.rglob("*"))
    monkeypatch.setattr(time, "clock_gettime_ns", lambda _: written)
    project.read()
    with counted(*OPENS) as calls:
        project.read()
    assert calls


def rewritten(path: Path, text: str) -> None:
    """Write a file in place, then set its mtime back."""
    before = path.stat() if path.exists() else None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    if before is not None:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def add(project: Project) -> None:
    (project.root / "added").write_text("x")
    run_git(project.repo, "add", ".")


CHANGES: dict[str, Callable[[Project], None]] = {
    "excludes": lambda p: rewritten(p.home / ".config" / "git" / "ignore", "*.new"),
    "excludesFile": lambda p: rewritten(p.home / ".gitconfig", "[core]\nexcludesFile = ~/mine\n"),
    "system": lambda p: rewritten(p.home.parent / "system", "[core]\nexcludesFile = ~/mine\n"),
    "xdg": lambda p: rewritten(p.home / ".config" / "git" / "config", "[core]\nexcludesFile = ~/mine\n"),
    "info": lambda p: rewritten(p.repo / ".git" / "info" / "exclude", "*.new"),
    "config": lambda p: rewritten(p.repo / ".git" / "config", "[core]\nexcludesFile = ~/mine\n"),
    "workspace": lambda p: rewritten(p.root / ".snapd.toml", 'exclude = ["*.new"]'),
    "head": lambda p: (p.repo / ".git" / "HEAD").unlink(),
    "repository": lambda p: (p.repo / ".git").rename(p.repo / "moved"),
    "index": add,
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_file_that_the_rules_rest_on_is_noticed(project: Project, clock: Callable[[], None], change: str) -> None:
    (project.home / "mine").write_text("*.mine")
    clock()
    first = project.read()
    assert project.read() is first
    CHANGES[change](project)
    second = project.read()
    assert second is not first
    assert second != first
    user = GitUser(str(project.home), None, str(project.home.parent / "system"), "/nonexistent")
    assert RuleSource(at(project.root), project.descriptor, user).read(("*.own",)) == second


def test_a_rewrite_of_the_same_size_with_the_time_set_back(project: Project, clock: Callable[[], None]) -> None:
    exclude = project.repo / ".git" / "info" / "exclude"
    exclude.write_text("*.one")
    clock()
    project.read()
    for text in ("*.two", "*.six", "*.ten"):
        rewritten(exclude, text)
        assert project.read().texts[0].text == text.encode()


def test_ignore_files_above_the_workspace(tmp_path: Path, clock: Callable[[], None]) -> None:
    project = Project(tmp_path, "sub/dir")
    clock()
    first = project.read()
    (project.repo / "sub" / ".gitignore").write_text("*.new")
    second = project.read()
    assert [text.base for text in second.texts if text.kind == "gitignore"] == [b"sub"]
    (project.repo / ".gitignore").write_text("sub/")
    assert project.read().prefix == b""
    (project.repo / ".gitignore").unlink()
    (project.repo / "sub" / ".gitignore").unlink()
    assert project.read() == first
    run_git(project.repo / "sub", "init", "-q")
    assert project.read().prefix == b"dir"
    os.close(project.descriptor)


def test_included_configuration_is_read_each_time(project: Project, clock: Callable[[], None]) -> None:
    (project.home / ".gitconfig").write_text("[InClude]\npath = more\n")
    (project.home / "more").write_text("[core]\nexcludesFile = ~/mine\n")
    (project.home / "mine").write_text("*.mine")
    clock()
    assert project.read().texts[0].text == b"*.mine"
    (project.home / "more").write_text("")
    assert all(text.kind != "global" for text in project.read().texts)


def test_own_patterns_count(project: Project, clock: Callable[[], None]) -> None:
    clock()
    first = project.read()
    assert project.source.read(("*.other",)) != first
    assert project.read() == first


def test_nested_repositories(project: Project, clock: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    inner = project.root / "inner"
    inner.mkdir()
    run_git(inner, "init", "-q")
    (inner / "one").write_text("x")
    run_git(inner, "add", ".")
    clock()
    assert not project.source.nested_changed()
    first = project.source.nested(b"inner")
    assert first is not None
    assert first.holds(b"inner/one")
    with counted(*OPENS) as calls:
        assert not project.source.nested_changed()
        assert project.source.nested(b"inner") is first
    assert not calls
    (inner / "two").write_text("x")
    run_git(inner, "add", ".")
    assert project.source.nested_changed()
    second = project.source.nested(b"inner")
    assert second is not None
    assert second.holds(b"inner/two")
    assert not project.source.nested_changed()
    (inner / ".git" / "HEAD").unlink()
    assert project.source.nested_changed()
    assert project.source.nested(b"inner") is None
    assert not project.source.nested_changed()
    (inner / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    assert project.source.nested_changed()
    assert project.source.nested(b"inner") == second
    inner.rename(project.root / "elsewhere")
    assert not project.source.nested_changed()


def test_a_seed_rests_on_the_rules(project: Project) -> None:
    assert project.source.seed(ProjectBlobs) is None
    project.read()
    run_git(project.repo, "repack", "-q", "-a", "-d")
    index = project.repo / ".git" / "index"
    os.utime(index, ns=(0, time.time_ns() + 10**10))
    for _ in range(2):
        seed = project.source.seed(ProjectBlobs)
        assert seed is not None
        project.read()
    descriptor = os.open(project.root, os.O_RDONLY)
    listing = list_directory(descriptor)
    os.close(descriptor)
    assert seed.oids(b"", listing)[listing.names.split(b"\0").index(b"file")] is not None


def test_stamps_of_a_directory_do_not_count_what_it_holds(tmp_path: Path) -> None:
    noted = StatCache()
    noted.stat(at(tmp_path))
    (tmp_path / "new").write_text("x")
    assert noted.unchanged()
    tmp_path.rename(tmp_path.with_name("moved"))
    assert not noted.unchanged()


def test_a_file_that_changes_between_two_looks_is_not_trusted(tmp_path: Path, clock: Callable[[], None]) -> None:
    clock()
    noted = StatCache()
    noted.stat(at(tmp_path / "x"))
    (tmp_path / "x").write_text("x")
    noted.stat(at(tmp_path / "x"))
    (tmp_path / "x").unlink()
    assert not noted.unchanged()
