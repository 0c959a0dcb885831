"""A folder that was renamed is known again, and one that only has its name is not taken for it."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from snapd.folders.former import Identity, adopt, whereabouts
from snapd.locations import Locations
from snapd.model.call import Call
from snapd.model.errors import InvalidParams
from snapd.model.snapshot_records import SnapshotRecordQuery
from snapd.settings.in_force import Base, Options, SettingsFile
from snapd.workspaces import Workspaces

if TYPE_CHECKING:
    from pathlib import Path


class User:
    """Opens folders, one at a time, as a daemon does that is started for each."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.locations = Locations(str(path / "c"), str(path / "data"), str(path / "run"), str(path / "home"))
        self.options = Options(Base(SettingsFile(str(path / "c"))), "client")
        # the seconds are the same for all repositories
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(path),
            **{f"GIT_{who}_{what}": "a" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
            **{f"GIT_{who}_DATE": "1600000000 +0000" for who in ("AUTHOR", "COMMITTER")},
        }

    def git(self, folder: str, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self.path / folder, env=self._environment, check=True, capture_output=True)

    def repository(self, name: str) -> str:
        self.folder(name)
        self.git(name, "init", "-q")
        self.git(name, "add", ".")
        self.git(name, "commit", "-qm", "first")
        return name

    def folder(self, name: str) -> str:
        (self.path / name).mkdir(parents=True)
        (self.path / name / "a").write_text("a")
        return name

    def track(self, name: str) -> tuple[int, set[tuple[str, str]]]:
        """Takes a snapshot; gives how many there are now, and what the folder may take."""
        workspaces = Workspaces(self.locations, None, 0o022, None)
        try:
            workspace = workspaces.acquire(os.fsencode(self.path / name), self.options)
            workspace.snapshots.track((), Call())
            former = {(os.path.relpath(each.folder, self.path), each.why) for each in workspace.former_histories()}
            return len(workspace.snapshots.taken(SnapshotRecordQuery(), None, 100, Call(), counts=False).views), former
        finally:
            workspaces.close()

    def store(self, name: str) -> str:
        return Workspaces(self.locations, None, 0o022, None).store_of(
            os.fsencode(self.path / name), self.options.settings
        )

    def adopt(self, name: str, old: str | None = None) -> bool:
        return adopt(self.store(name), str(self.path / name), None if old is None else str(self.path / old))[1]


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


@pytest.mark.parametrize("kind", ["repository", "folder"])
@pytest.mark.parametrize("new", ["new", "elsewhere/deep/new"])
def test_a_renamed_folder_is_offered_its_history_and_takes_it(user: User, kind: str, new: str) -> None:
    getattr(user, kind)("old")
    assert user.track("old") == (1, set())
    (user.path / new).parent.mkdir(parents=True, exist_ok=True)
    os.rename(user.path / "old", user.path / new)
    assert user.track(new) == (1, {("old", "moved")})
    assert user.adopt(new)
    (user.path / new / "a").write_text("b")
    # what the folder had in between is kept
    assert user.track(new) == (2, {(new, "replaced")})


def test_a_folder_whose_parent_was_renamed_is_found_there(user: User) -> None:
    user.track(user.folder("above/middle/project"))
    store = user.store("above/middle/project")
    os.rename(user.path / "above", user.path / "other")
    assert whereabouts(store, []) == str(user.path / "other/middle/project")
    shutil.rmtree(user.path / "other")
    assert whereabouts(store, [str(user.path)]) is None


def test_a_copy_is_known_by_its_git_only_once_the_original_is_gone(user: User) -> None:
    user.track(user.repository("old"))
    shutil.copytree(user.path / "old", user.path / "copy", symlinks=True)
    assert user.track("copy") == (1, set())
    with pytest.raises(InvalidParams):
        user.adopt("copy", "old")
    shutil.rmtree(user.path / "old")
    assert user.track("copy") == (2, {("old", "moved")})


@pytest.mark.parametrize("way", ["clone", "worktree"])
def test_a_clone_and_another_work_tree_are_not_the_old_one(user: User, way: str) -> None:
    user.repository("source")
    words = ("clone", "-q", "../source", ".") if way == "clone" else ("worktree", "add", "-fq", "--detach")
    for name in ("old", "new"):
        (user.path / name).mkdir()
        user.git(name if way == "clone" else "source", *words, *([] if way == "clone" else [f"../{name}"]))
    user.track("old")
    shutil.rmtree(user.path / "old")
    assert user.track("new") == (1, set())
    # nor is one at the same path
    os.rename(user.path / "new", user.path / "old")
    assert user.track("old") == (1, {("new", "moved"), ("old", "replaced")})
    assert user.adopt("old", "old")
    assert user.track("old")[0] == 2


def test_a_folder_that_was_restored_at_its_path_goes_on(user: User) -> None:
    for name in (user.repository("repository"), user.folder("folder")):
        user.track(name)
        shutil.copytree(user.path / name, user.path / "backup", symlinks=True)
        shutil.rmtree(user.path / name)
        os.rename(user.path / "backup", user.path / name)
        (user.path / name / "a").write_text("b")
        assert user.track(name) == (2, set())


@pytest.mark.parametrize(
    ("then", "now", "expected"),
    [
        # another device number after a restart
        (Identity(1, 5, 7, ""), Identity(2, 5, 7, ""), True),
        # an inode number that was used again
        (Identity(1, 5, 7, ""), Identity(1, 5, 8, ""), None),
        (Identity(1, 5), Identity(1, 5), True),
        (Identity(1, 5), Identity(2, 5), None),
        # written by an older snapd
        (Identity(1, 5), Identity(1, 6, 7, "f:1000000001"), None),
        (Identity(1, 5, 7, ""), Identity(1, 6, 7, "f:1000000001"), False),
        (Identity(1, 5, 7, "f:1000000001"), Identity(1, 6, 7, ""), None),
        (Identity(1, 5, 7, "f:1000000001"), Identity(1, 6, 7, "f:1000000002"), False),
        (Identity(1, 5, 7, "f:1000000001"), Identity(1, 6, 7, "f:1000000000"), True),
        # the first entry of the reflog expired
        (Identity(1, 5, 7, "f:1000000001"), Identity(1, 6, 7, "g:1000000001"), None),
        # there was no commit yet
        (Identity(1, 5, 7, ":1000000001"), Identity(1, 6, 7, "g:1000000001"), True),
    ],
)
def test_what_tells_folders_apart(then: Identity, now: Identity, expected: bool | None) -> None:
    assert then.is_now(now) is expected
