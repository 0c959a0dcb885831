"""What happens to files that no snapshot has is noticed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from snapd.watch.choose import WatcherSetting
from tests.support.workspace import Bench, make

FILES = {
    ".gitignore": b"*.env\n/build/\n",
    "a.txt": b"a\n",
    "one.env": b"1\n",
    "two.env": b"2\n",
    "sub/three.env": b"3\n",
    "sub/b.txt": b"b\n",
    "build/out.o": b"o\n",
    "large.bin": b"x" * 100,
}


def noticed(bench: Bench) -> dict[str, str]:
    """What happened since the last call."""
    bench.track()
    work_tree = bench.workspace.work_tree
    found = {
        os.fsdecode(change.path): "deleted" if change.deleted else "changed"
        for change in work_tree.state.uncaptured.changes
    }
    work_tree.state.uncaptured.settle()
    return found


@pytest.fixture(params=["auto", "none"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    watcher: WatcherSetting = request.param
    bench = make(tmp_path, FILES, watcher=watcher)
    bench.configure(max_file_size=50)
    assert noticed(bench) == {}
    return bench


def test_changes_and_deletions(bench: Bench) -> None:
    bench.write({"one.env": b"10\n", "a.txt": b"no news\n", "new.env": b"new\n", "large.bin": b"y" * 101})
    bench.remove("two.env", "sub/b.txt")
    assert noticed(bench) == {"one.env": "changed", "two.env": "deleted", "large.bin": "changed"}
    assert noticed(bench) == {}
    bench.remove("new.env")
    assert noticed(bench) == {"new.env": "deleted"}


def test_with_a_directory_around_them(bench: Bench) -> None:
    bench.remove("sub")
    shutil.rmtree(bench.path("build"))
    assert noticed(bench) == {"sub/three.env": "deleted", "build": "deleted"}


def test_what_comes_back_was_changed(bench: Bench) -> None:
    bench.remove("one.env", "two.env")
    bench.track()
    bench.write({"one.env": b"1\n"})
    assert noticed(bench) == {"one.env": "changed", "two.env": "deleted"}


def test_a_directory_in_place_of_another(bench: Bench) -> None:
    shutil.move(bench.path("sub"), bench.path("elsewhere"))
    bench.write({"sub/b.txt": b"b\n"})
    # it went along with the directory
    assert noticed(bench) == {}
    bench.remove("elsewhere")
    assert noticed(bench) == {"elsewhere/three.env": "deleted"}


def test_what_rules_say_is_no_change_of_a_file(bench: Bench) -> None:
    bench.write({".gitignore": b"*.txt\n/build/\n"})
    assert noticed(bench) == {}
    bench.write({"one.env": b"captured\n", ".gitignore": b"*.env\n"})
    assert noticed(bench) == {}
    bench.write({"one.env": b"not captured\n"})
    assert noticed(bench) == {"one.env": "changed"}


def test_the_work_for_many_is_bounded(bench: Bench) -> None:
    bench.write({f"many/{number}.env": b"" for number in range(1100)})
    assert noticed(bench) == {}
    bench.remove("many")
    assert len(noticed(bench)) == 1000
