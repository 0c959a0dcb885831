"""Writes through hard links inside the folder: whatever name they went through, and whether or not it is still there.

`watch` decides by itself how it finds out, so that everything here runs with each way that it has.
"""

from __future__ import annotations

import errno
import mmap
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from snapd.watch.queues import Fanotify, Layout
from tests.support.amounts import amount
from tests.support.workspace import Bench, Items, make
from tests.worktree.changes import (
    Edit,
    append,
    check,
    copy_links,
    disguise,
    link,
    lose_events,
    make_executable,
    play,
    put,
    remove,
    rename,
    save,
    together,
)

pytestmark = pytest.mark.slow

WAYS = ["inodes", "names", "overflow", "none"]
"""`inodes`: the kernel says which files were written to; `names`: it says only through which names, as in most
containers; `overflow`: its queue has lost events whenever it had any; `none`: nothing is watched."""


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "overflow":
        lose_events(monkeypatch)
    if request.param == "names":
        without_inodes(monkeypatch)
    return str(request.param)


def without_inodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that does not let us ask which files were written to."""

    def refuse(self: Fanotify, layout: Layout) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(Fanotify, "__init__", refuse)


def begin(folder: Path, items: Items, way: str) -> Bench:
    (folder / "outside").mkdir()
    return make(folder, items, inside="", watcher="none" if way == "none" else "auto")


FILES: Items = {
    "a": b"0",
    "b": b"1",
    "d/a": b"2",
    "d/b": b"3",
    "d/e/a": b"4",
    "g/x": b"5",
    ".gitignore": b"ignored/\n*.log\n",
    "ignored/i": b"6",
}
BURSTS: dict[str, list[list[Edit]]] = {
    "link, write, remove": [[link("a", "t"), append("t"), remove("t")], [link("d/a", "t"), append("t"), remove("t")]],
    "link, same size and time, remove": [[link("a", "d/t"), disguise("d/t", b"x"), remove("d/t")]],
    "link, mode, remove": [[link("a", "d/t"), make_executable("d/t"), remove("d/t")]],
    "link, write, move out": [[link("a", "t"), append("t"), rename("t", "../outside/t")]],
    "link, write, move into an ignored directory": [[link("a", "t"), append("t"), rename("t", "ignored/t")]],
    "link, write, move onto an ignored name": [
        [link("a", "t"), append("t"), rename("t", "d/t.log")],
        [append("d/t.log")],
    ],
    "link, write, replaced by another": [[link("a", "d/t"), append("d/t"), save("d/t", b"other")]],
    "link, write, replaced by one that was there": [[link("a", "d/t"), append("d/t"), rename("b", "d/t")]],
    "link, write, rename, rename, remove": [
        [link("a", "d/t"), append("d/t"), rename("d/t", "u"), rename("u", "d/e/t"), append("d/e/t"), remove("d/e/t")]
    ],
    "link, write, rename onto a name, twice": [
        [link("a", "d/t"), append("d/t"), rename("d/t", "b"), save("b", b"new"), save("b", b"newer")]
    ],
    "made outside, moved in, written, removed": [
        [link("a", "../outside/t"), rename("../outside/t", "t"), append("t"), remove("t")]
    ],
    "a name that was another file": [[remove("d/b"), link("a", "d/b"), append("d/b"), remove("d/b")]],
    "the name is a new file afterwards": [[link("a", "t"), append("t"), remove("t"), put("t", b"new")]],
    "a name with several becomes that of another": [
        [link("b", "d/t")],
        [remove("b"), link("a", "b"), append("b")],
        [append("b")],
        [append("a")],
        [append("b"), remove("b")],
    ],
    "renamed onto a name with several": [
        [link("b", "d/t")],
        [link("a", "u"), rename("u", "b"), append("b")],
        [append("b")],
        [remove("b"), append("a")],
    ],
    "a second name is removed, and another file comes": [
        [link("a", "t")],
        [append("t"), remove("t"), put("t", b"other")],
        [append("t")],
        [append("a")],
    ],
    "a name of a name": [[link("a", "t"), link("t", "u"), remove("t"), append("u"), remove("u")]],
    "all but one name go": [[link("a", "t"), link("a", "u")], [append("t"), remove("t"), remove("a")], [append("u")]],
    "a tree of links that stays": [[copy_links("d", "copy"), append("copy/a")], [append("copy/e/a"), append("copy/a")]],
    "a tree of links, written to, removed": [[copy_links("d", "copy"), append("copy/a"), remove("copy")]],
    "a tree of links, written to, moved out": [
        [copy_links("d", "copy"), append("copy/e/a"), rename("copy", "../outside/copy")]
    ],
    "a tree of links, written to, moved into an ignored directory": [
        [copy_links("d", "copy"), append("copy/e/a"), rename("copy", "ignored/copy")]
    ],
    "a tree of links, renamed": [[copy_links("d", "copy"), append("copy/e/a"), rename("copy", "g/copy")]],
    "a directory with a link leaves": [
        [link("a", "d/t"), append("d/t"), rename("d", "../outside/d")],
        [append("../outside/d/t")],
        [rename("../outside/d", "d"), append("d/t")],
        [append("d/t"), remove("d")],
    ],
    "a directory below leaves with a new link": [[link("a", "d/e/t"), append("d/e/t"), rename("d/e", "../outside/e")]],
    "a directory with links comes": [
        [lambda bench: os.mkdir(bench.path("../outside/n")), link("a", "../outside/n/t")],
        [rename("../outside/n", "n"), append("n/t")],
        [append("n/t")],
        [append("n/t"), rename("n", "../outside/n")],
        [append("../outside/n/t")],
    ],
    "an ignored name": [
        [link("a", "x.log"), append("x.log"), remove("x.log")],
        [link("a", "d/x.log"), append("d/x.log")],
        [append("d/x.log"), remove("d/x.log")],
    ],
    "an ignored directory": [
        # who makes the link only is not seen; that there is one is, with the next look at the file
        [link("a", "ignored/t"), append("a")],
        [append("ignored/t")],
        [append("ignored/t"), remove("ignored/t")],
    ],
    "an ignored file by a name that is not": [
        [link("ignored/i", "t"), append("t")],
        [append("ignored/i")],
        [append("ignored/i"), remove("ignored/i")],
    ],
    "symlinks": [
        [lambda bench: os.symlink("a", bench.path("s"))],
        [link("s", "d/s"), remove("s")],
        [link("d/s", "s"), append("s"), remove("d/s")],
        [rename("s", "d/s")],
    ],
    "too large, then cut through another name": [
        [put("big", b"x" * (1 << 21))],
        [link("big", "t"), lambda bench: os.truncate(bench.path("t"), 10), remove("t")],
    ],
    "saved twice": [[save("a", b"x"), save("a", b"y")], [append("a")]],
}


@pytest.mark.parametrize("at_once", [False, True], ids=["one by one", "at once"])
@pytest.mark.parametrize("bursts", BURSTS.values(), ids=BURSTS.keys())
def test_what_was_written_through_any_name_is_in_the_next_snapshot(
    tmp_path: Path, way: str, bursts: list[list[Edit]], at_once: bool
) -> None:
    bench = begin(tmp_path, FILES, way)
    check(bench)
    play(bench, [together(*burst) for burst in bursts], at_once=at_once)
    for name in ("a", "d/a"):
        if os.path.exists(bench.path(name)):
            append(name, b"at last")(bench)
    check(bench)


@pytest.mark.parametrize("again", [False, True], ids=["the name is gone", "the name is another file"])
def test_a_descriptor_that_outlives_its_name(tmp_path: Path, way: str, again: bool) -> None:
    """Looks come between: when it is written to, the file has but one name, and that is not the one that is told."""
    if way == "names":
        pytest.skip("without inodes this is what no clock can tell")
    bench = begin(tmp_path, FILES, way)
    link("a", "d/t")(bench)
    check(bench)
    with open(bench.path("d/t"), "ab", buffering=0) as file:
        remove("d/t")(bench)
        check(bench)
        if again:
            put("d/t", b"other")(bench)
            check(bench)
        file.write(b"later")
        check(bench)


def test_a_mapping_of_another_name_goes(tmp_path: Path, way: str) -> None:
    """A store to a page that was mapped before changes no time: that the file was closed is all there is."""
    if way in ("overflow", "none"):
        pytest.skip("nothing is told of the file there")
    bench = begin(tmp_path, {"a": b"0" * 5000, "d/b": b"1"}, way)
    link("a", "d/t")(bench)
    check(bench)
    with open(bench.path("d/t"), "r+b") as file:
        pages = mmap.mmap(file.fileno(), 0)
    pages[0:1] = b"1"
    check(bench)
    pages[0:1] = b"2"
    pages.close()
    check(bench)


class Player:
    """Makes random edits through random names, but for what no clock can tell.

    That is: writes through a name outside or in an ignored directory, where nothing told so far that the file has it;
    and names that are gone again from a directory that is new itself.
    """

    def __init__(self, bench: Bench, seed: int) -> None:
        self.bench = bench
        self.dice = random.Random(seed)
        self.log: list[str] = []
        self.known: set[int] = set()
        self._latest = "a"
        self._begin()

    def _begin(self) -> None:
        self._told: set[str] = set()
        self._written: set[int] = set()
        self._new: set[str] = set()

    def burst(self) -> None:
        """Some edits; what of them is impossible, is none."""
        missing = {name: data for name, data in FILES.items() if not os.path.lexists(self._at(name))}
        if len(missing) > 3 or not all(os.path.isdir(self._at(name)) for name in ("d/e", "g", "ignored")):
            self._do("begin anew", lambda: self.bench.write(missing))
            self.check()
        edits = (
            (self.link,) * 8
            + (self.pass_by,) * 4
            + (self.write,) * 12
            + (self.remove,) * 5
            + (self.move,) * 5
            + (self.save,) * 3
        )
        for _ in range(self.dice.choice((1, 2, 3, 3, 4, 5, 8))):
            try:
                self.dice.choice((*edits, self.copy_tree, self.move_tree, self.remove_tree))()
            except (OSError, shutil.Error) as error:
                self.log.append(f"  {type(error).__name__}")

    def check(self) -> None:
        """A snapshot is what is there."""
        self.log.append("check")
        try:
            check(self.bench)
        except AssertionError as error:
            raise AssertionError("\n".join(self.log)) from error
        seen = self._written | {self.status(path).st_ino for path in self._told if self._is_file(path)}
        several = {status.st_ino for status in map(self.status, self.files()) if status.st_nlink > 1}
        self.known = several & (self.known | seen)
        self._begin()

    def link(self) -> None:
        old, new = self._existing(), self._path()
        self._do(f"link {old} {new}", lambda: os.link(self._at(old), self._at(new), follow_symlinks=False))
        self._tell(new)

    def pass_by(self) -> None:
        """A name that comes, is written through, and most likely goes; between those, something else may happen."""
        self.link()
        path = self._latest
        for edit in (self.write, self.dice.choice((self.remove, self.move, self.save, self.write))):
            if self.dice.random() < 0.1:
                self.dice.choice((self.link, self.move, self.save))()
            self._latest = path
            edit()

    def write(self) -> None:
        path = self._existing()
        inode = self.status(path).st_ino
        if self._is_hidden(path) and inode not in self.known:
            return
        kind = self.dice.choice((append, append, disguise, put, make_executable))
        data = bytes((self.dice.randrange(256),))
        edit = kind(path) if kind is make_executable else kind(path, data)  # type: ignore[operator]
        self._do(f"{kind.__name__} {path} {data!r}", lambda: edit(self.bench))
        self._tell(path)
        if not self._is_hidden(path):
            self._written.add(inode)

    def remove(self) -> None:
        path = self._existing()
        if not self._is_new(path):
            self._do(f"remove {path}", lambda: os.unlink(self._at(path)))

    def move(self) -> None:
        old, new = self._existing(), self._path()
        if not self._is_new(old) and not self._is_new(new):
            self._do(f"move {old} {new}", lambda: os.rename(self._at(old), self._at(new)))
            self._tell(new)

    def save(self) -> None:
        path = self._path()
        if not self._is_new(path):
            self._do(f"save {path}", lambda: save(path, b"%d" % self.dice.randrange(1000))(self.bench))
            self._tell(path)

    def copy_tree(self) -> None:
        old, new = self._directory(), self._directory()
        if not new.startswith(old):
            self._do(f"copy {old} {new}", lambda: copy_links(old, new)(self.bench))
            self._come(new)

    def move_tree(self) -> None:
        old, new = self._directory(), self._directory()
        if not self._is_new(new):
            self._do(f"move {old} {new}", lambda: os.rename(self._at(old), self._at(new)))
            self._come(new)

    def remove_tree(self) -> None:
        path = self._directory()
        if not self._is_new(os.path.dirname(path) + "/"):
            self._do(f"remove {path}", lambda: shutil.rmtree(self._at(path)))

    def _do(self, what: str, edit: Callable[[], object]) -> None:
        self.log.append(what)
        edit()

    def _come(self, path: str) -> None:
        self._new.add(path + "/")
        for above, _, names in os.walk(self._at(path)):
            for name in names:
                self._tell(os.path.relpath(os.path.join(above, name), self.bench.root))

    def _tell(self, path: str) -> None:
        self._latest = path
        if not self._is_hidden(path):
            self._told.add(path)

    def _is_new(self, path: str) -> bool:
        return any(path.startswith(new) for new in self._new)

    def _is_hidden(self, path: str) -> bool:
        return path.startswith(("../", "ignored/"))

    def _directory(self) -> str:
        return self.dice.choice(("d", "d/e", "g", "g/d", "n", "../outside/n", "ignored/n"))

    def _path(self) -> str:
        above = self.dice.choice(("", "", "d/", "d/", "d/e/", "g/", "n/", "g/d/", "../outside/", "ignored/"))
        return above + self.dice.choice(("a", "b", "c", "t", "x.log"))

    def _existing(self) -> str:
        """A file that is there, most often the one whose name came last."""
        if self.dice.random() < 0.8 and self._is_file(self._latest):
            return self._latest
        paths = [path for path in (self._path() for _ in range(8)) if self._is_file(path)]
        return paths[0] if paths else "a"

    def files(self) -> Iterator[str]:
        for above, _, names in os.walk(self.bench.root):
            yield from (os.path.relpath(os.path.join(above, name), self.bench.root) for name in names)

    def _at(self, path: str) -> str:
        return os.path.join(self.bench.root, path)

    def _is_file(self, path: str) -> bool:
        return os.path.isfile(self._at(path))

    def status(self, path: str) -> os.stat_result:
        return os.lstat(self._at(path))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", range(4))
def test_random_edits_through_random_names(tmp_path: Path, way: str, seed: int) -> None:
    bench = begin(tmp_path, FILES, way)
    player = Player(bench, seed)
    player.check()
    for _ in range(amount(20, 400)):
        player.burst()
        player.check()
        if player.dice.random() < 0.03:
            bench.reopen()
            player.log.append("reopen")
            player.check()
            player.known = {status.st_ino for status in map(player.status, player.files()) if status.st_nlink > 1}
