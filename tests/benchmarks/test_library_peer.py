"""The peers against git: after every round of a random history, each has the tree that `git add -A` has."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import watchman
from benchmarks.git_algorithm import ShadowGit, make_project
from benchmarks.peers import NAMES, peers
from benchmarks.watchman import has_watchman
from tests.support.git import run_git
from tests.support.places import make_folder

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not has_watchman(), reason="watchman is not installed"),
]
ROUNDS = 40
NAMES_OF_FILES = ("a", "b", "a.x", "a-b", "c.o", "build", "ä b")
"""Directories have them as well, so that one takes the place of the other; some sort otherwise with a slash behind."""
PATTERNS = ("*.o", "build/", "!c.o", "/a", "a/b", "b", "!b", "*.x", "/*/a-b", "**/a/c.o", "")


@pytest.fixture
def place() -> Iterator[Path]:
    folder = make_folder("peers-")
    for name in ("tree", "peers"):
        (folder / name).mkdir()
    yield folder
    shutil.rmtree(folder)


class History:
    """Random changes of a tree."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root
        self.chance = random.Random(seed)

    def go_on(self) -> None:
        for _ in range(self.chance.randint(0, 5)):
            self.chance.choices(
                (self.write, self.write_ignore_file, self.delete, self.rename, self.change_mode, self.link),
                weights=(8, 2, 3, 3, 2, 1),
            )[0]()

    def write(self) -> None:
        path = self.make_room()
        # often as long as before, in the same instant
        path.write_text(f"{self.chance.randrange(10)}\n", "ascii")

    def write_ignore_file(self) -> None:
        folders = [path for path in self.paths() if path.is_dir() and not path.is_symlink()]
        path = self.chance.choice([self.root, *folders]) / ".gitignore"
        path.write_text("".join(f"{line}\n" for line in self.chance.choices(PATTERNS, k=2)))

    def link(self) -> None:
        path = self.make_room()
        path.symlink_to(self.chance.choice(NAMES_OF_FILES))

    def delete(self) -> None:
        if paths := self.paths():
            remove(self.chance.choice(paths))

    def rename(self) -> None:
        if paths := self.paths():
            source, target = self.chance.choice(paths), self.make_room()
            if source.exists() and not target.is_relative_to(source):
                source.rename(target)

    def change_mode(self) -> None:
        files = [path for path in self.paths() if path.is_file() and not path.is_symlink()]
        if files:
            self.chance.choice(files).chmod(self.chance.choice((0o644, 0o755)))

    def paths(self) -> list[Path]:
        paths = (path for path in self.root.rglob("*") if ".git" not in path.relative_to(self.root).parts)
        return sorted(paths)

    def make_room(self) -> Path:
        """A path at which nothing is; what was there, or in the place of a directory above it, is removed."""
        names = self.chance.choices(NAMES_OF_FILES, k=self.chance.randint(1, 3))
        folder = self.root
        for name in names[:-1]:
            folder /= name
            if folder.is_symlink() or not folder.is_dir():
                remove(folder)
                folder.mkdir()
        path = folder / names[-1]
        remove(path)
        return path


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def taken_by_git(shadow: ShadowGit, last: str) -> str:
    """The tree, found with an index that knows nothing but which files were captured the last time."""
    os.unlink(os.path.join(shadow.directory, "index"))
    shadow.git("read-tree", last)
    shadow.git("add", "-A")
    return shadow.git("write-tree").decode().strip()


def test_the_libraries_capture_nested_repositories_differently(place: Path) -> None:
    tree = place / "tree"
    (tree / "file").write_text("1")
    with peers(str(tree), str(place / "peers"), list(NAMES)) as others:
        for peer in others:
            peer.first_track()
        (tree / "nested").mkdir()
        (tree / "nested/file").write_text("2")
        make_project(str(tree / "nested"))
        expected = ShadowGit(str(place / "reference.git"), str(tree)).first_track()
        assert [peer.key for peer in others if peer.shadow.track() == expected] == ["fsmonitor"]


def test_the_libraries_fail_on_a_name_that_is_not_utf_8(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchman, "ANSWER_SECONDS", 1.0)
    tree = place / "tree"
    (tree / "file").write_text("1")
    with peers(str(tree), str(place / "peers"), list(NAMES)) as others:
        for peer in others:
            peer.first_track()
        (tree / os.fsdecode(b"caf\xe9")).write_text("2")
        expected = ShadowGit(str(place / "reference.git"), str(tree)).first_track()
        monitored, *libraries = others
        assert monitored.shadow.track() == expected
        for peer in libraries:
            with pytest.raises(RuntimeError, match="not UTF-8"):
                peer.shadow.track()


@pytest.mark.parametrize("seed", range(10))
def test_every_peer_has_the_tree_of_git_after_every_round(place: Path, seed: int) -> None:
    tree = place / "tree"
    history = History(tree, seed)
    for _ in range(10):
        history.go_on()
    # is never gone: git makes no commit of nothing
    (tree / "kept").touch()
    if seed % 2 == 0:
        make_project(str(tree))
    reference = ShadowGit(str(place / "reference.git"), str(tree))
    trees = [reference.first_track()]
    with peers(str(tree), str(place / "peers"), list(NAMES)) as others:
        assert {peer.key: peer.first_track() for peer in others} == dict.fromkeys(NAMES, trees[0])
        for number in range(ROUNDS):
            history.go_on()
            trees.append(taken_by_git(reference, trees[-1]))
            assert {peer.key: peer.shadow.track() for peer in others} == dict.fromkeys(NAMES, trees[-1]), number
        for peer in others:
            listed = run_git(peer.shadow.directory, "rev-list", "--objects", *sorted(set(trees)))
            objects = b"".join(line[:40] + b"\n" for line in listed.splitlines())
            read = run_git(peer.shadow.directory, "cat-file", "--batch", input=objects)
            assert read.count(b"missing\n") == 0
    assert len(set(trees)) > ROUNDS // 2
