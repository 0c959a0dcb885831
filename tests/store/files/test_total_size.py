"""The bytes of a store are those of its files, whatever came and went; unchanged objects are not looked at."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest

from snapd.store.files.space import TotalSize
from tests.store.steps import Steps
from tests.support.git import run_git

SECOND = 1_000_000_000


class Store:
    """A directory like a store, a clock, and the sum as a plain walk finds it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.now = 1000 * SECOND
        self.size = TotalSize(str(path), "journal", lambda: self.now)
        (path / "objects" / "pack").mkdir(parents=True)
        (path / "journal").mkdir()

    def write(self, name: str, size: int) -> None:
        path = self.path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(b"x" * size)
        self.touch(path.parent)

    def remove(self, name: str) -> None:
        (self.path / name).unlink()
        self.touch((self.path / name).parent)

    def touch(self, directory: Path) -> None:
        """Gives a directory the time of the clock, as the file system does."""
        os.utime(directory, ns=(self.now, self.now))

    def walked(self) -> int:
        files = [path for path in self.path.rglob("*") if path.is_file() and "journal" not in path.parts]
        return sum(path.lstat().st_size for path in files)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.mark.slow
@pytest.mark.parametrize("tick", [4_000_000, SECOND], ids=["fine", "coarse"])
def test_any_changes(store: Store, tick: int) -> None:
    """Files come and go, many of them within one tick of the file system's clock."""
    dice = random.Random(tick)
    names: list[str] = []
    clock = store.now
    for step in range(600):
        clock += dice.choice([0, 0, tick // 3, tick, 50 * tick])
        # directories have the time of the last tick, the program's own clock is finer
        store.now = clock - clock % tick
        if names and dice.random() < 0.4:
            store.remove(names.pop(dice.randrange(len(names))))
        else:
            where = dice.choice(
                ["objects/0a", "objects/0b", "objects/ff", "objects/pack", "refs/heads", "journal", "."]
            )
            names.append(f"{where}/{step}")
            store.write(names[-1], dice.randrange(1, 2000))
        store.now = clock
        if dice.random() < 0.5:
            assert store.size.bytes() == store.walked(), step
    assert store.size.bytes() == store.walked()


def test_a_directory_that_was_replaced(store: Store) -> None:
    store.write("objects/0a/1", 100)
    store.now += 10 * SECOND
    assert store.size.bytes() == 100
    aside = store.path / "objects" / "0a"
    aside.rename(store.path / "old")
    shutil.copytree(store.path / "old", aside, copy_function=shutil.copy2)
    (aside / "2").write_bytes(b"x" * 50)
    shutil.copystat(store.path / "old", aside)
    shutil.rmtree(store.path / "old")
    assert store.size.bytes() == store.walked() == 150


def test_what_git_does_to_a_store(steps: Steps) -> None:
    """git packs, and removes the loose files."""
    for number in range(30):
        steps.take({f"{number}": b"%d\n" % number * 50})
    steps.store.close()
    size = TotalSize(str(steps.path), "journal")

    def walked() -> int:
        found = (Path(above) / name for above, _, names in os.walk(steps.path) for name in names)
        return sum(path.lstat().st_size for path in found if "journal" not in path.parts)

    assert size.bytes() == walked() > 0
    assert any((steps.path / "objects").glob("??/*"))
    run_git(steps.path, "gc", "-q", "--prune=now")
    assert not any((steps.path / "objects").glob("??/*"))
    assert size.bytes() == walked()


def test_unchanged_objects_are_not_looked_at(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(1000):
        store.write(f"objects/{number % 8:02x}/{number}", 10)
    store.write("refs/heads/main", 41)
    store.now += 10 * SECOND
    assert store.size.bytes() == 10_041
    looked: list[str] = []
    real = os.lstat

    def lstat(path: str) -> os.stat_result:
        looked.append(os.fspath(path))
        return real(path)

    monkeypatch.setattr(os, "lstat", lstat)
    assert store.size.bytes() == 10_041
    assert not [path for path in looked if Path(path).parent.parent == store.path / "objects"]
    looked.clear()
    store.write("objects/03/new", 5)
    assert store.size.bytes() == 10_046
    assert {Path(path).parent.name for path in looked if Path(path).parent.parent == store.path / "objects"} == {"03"}
