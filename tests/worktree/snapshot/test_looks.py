"""What a look must not miss, case by case, held against the oracle, with a clock that tells and one that cannot.

`test_bursts.py` finds such cases at random; here are those that are too rare to wait for.
"""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import attrs
import pytest

from snapd.model.call import Call
from snapd.model.errors import Cancelled
from snapd.model.snapshot import DriftQuery, SkipReason
from snapd.watch import inotify_clock
from snapd.watch.clock import Marks
from snapd.watch.queues import Inotify
from snapd.worktree.fs import listing
from snapd.worktree.snapshot import walker
from snapd.worktree.snapshot.walker import Walker
from snapd.worktree.state.file_state import is_racy_record
from tests.support.git import run_git
from tests.support.workspace import Bench, Items, make, outcomes, without_rights
from tests.watch.places import run_in_namespace
from tests.worktree.changes import (
    Edit,
    check,
    disguise,
    exchange,
    git_inside,
    link,
    lose_events,
    make_directory,
    play,
    put,
    remove,
    rename,
    symlink,
    together,
)

CLOCKS = ["auto", "none", "overflow"]
"""`overflow`: a queue that has lost events each time that it had any."""


@pytest.fixture(params=CLOCKS)
def clock(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "overflow":
        lose_events(monkeypatch)
    return str(request.param)


def begin(folder: Path, items: Items, clock: str = "auto", *, git: bool = False) -> Bench:
    bench = make(folder, items, git=git, watcher="none" if clock == "none" else "auto")
    expected = "none" if clock == "none" else "inotify"
    assert bench.workspace.snapshots.status().watcher == expected
    return bench


RULES: Items = {"d/a.log": b"1", "d/b.log": b"2", "d/e/a.log": b"3", "c.log": b"4", "d/x": b"5"}
TREE: Items = {"d/a": b"1", "d/b": b"2", "d/e/a": b"3", "d/e/f/a": b"4", "g/a": b"5", "g/h/b": b"6", "top": b"7"}
SCENARIOS: dict[str, tuple[Items, list[Edit]]] = {
    "rules of two directories, the upper first": (
        RULES,
        [
            together(put(".gitignore", b"*.log\n"), put("d/.gitignore", b"!a.log\n")),
            together(put(".gitignore", b"\n"), put("d/.gitignore", b"b.log\n")),
            together(put(".gitignore", b"d/\n"), put("d/.gitignore", b"x\n")),
            together(put(".gitignore", b"x\n"), put("d/.gitignore", b"!x\n")),
        ],
    ),
    "rules of two directories, the lower first": (
        RULES,
        [
            together(put("d/.gitignore", b"!a.log\n"), put(".gitignore", b"*.log\n")),
            together(put("d/.gitignore", b"b.log\n"), put(".gitignore", b"\n")),
            together(put("d/.gitignore", b"x\n"), put(".gitignore", b"d/\n"), put("d/new", b"?")),
            together(put("d/.gitignore", b"!x\n"), put(".gitignore", b"x\n")),
        ],
    ),
    "rules come and go": (
        RULES,
        [
            put("d/.gitignore", b"*.log\n"),
            rename("d/.gitignore", "d/away"),
            rename("d/away", "d/.gitignore"),
            disguise("d/.gitignore", b"a.log"),
            remove("d/.gitignore"),
            symlink("x", "d/.gitignore"),
            remove("d/.gitignore"),
            make_directory("d/.gitignore"),
            together(remove("d/.gitignore"), put("d/.gitignore", b"e/\n")),
        ],
    ),
    "directories renamed within": (
        TREE,
        [
            rename("d/e", "d/z"),
            together(rename("d/z", "g/e"), put("g/e/f/a", b"later")),
            rename("g/e/f", "f"),
            together(rename("f", "g/e/f"), rename("g/e", "d/e")),
            together(rename("d", "z"), rename("z", "d")),
            together(rename("d", "z"), put("z/e/a", b"away"), rename("z", "d")),
        ],
    ),
    "directories renamed out and back": (
        TREE,
        [
            rename("d", "../away"),
            lambda bench: (Path(bench.root).parent / "away/e/f/a").write_bytes(b"while it was away"),
            rename("../away", "d"),
            together(rename("d/e", "../away"), put("../away/f/a", b"again"), rename("../away", "d/e")),
            put("d/e/f/a", b"and watched again"),
        ],
    ),
    "directories exchanged": (
        TREE,
        [
            exchange("d", "g"),
            put("d/a", b"x"),
            together(exchange("d/h", "g/e"), put("d/h/f/a", b"y")),
            put("g/e/b", b"z"),
            together(exchange("d", "g"), exchange("d", "g")),
            put("d/new", b"w"),
        ],
    ),
    "a directory onto an empty one": (
        {**TREE, "empty/": None, "d/void/": None},
        [rename("d", "empty"), put("empty/a", b"x"), rename("g", "empty/void"), put("empty/void/a", b"y")],
    ),
    "a directory, a file, a symlink": (
        TREE,
        [
            together(remove("d"), put("d", b"file")),
            together(remove("d"), symlink("g", "d")),
            together(remove("d"), rename("g", "d")),
            together(rename("d", "g"), symlink("g", "d")),
            put("g/h/b", b"behind a symlink"),
            together(remove("d"), make_directory("d/e"), put("d/e/a", b"x")),
            put("d/e/a", b"y"),
        ],
    ),
    "bytes that look the same": (
        {"a": b"000", "d/a": b"000"},
        [
            disguise("a", b"001"),
            disguise("d/a", b"001"),
            together(disguise("a", b"002"), disguise("d/a", b"003")),
            together(remove("a"), put("a", b"004")),
            exchange("a", "d/a"),
        ],
    ),
    "inode numbers that come again": (
        TREE,
        [
            together(remove("d"), put("d/a", b"?"), put("d/e/a", b"!")),
            put("d/a", b"x"),
            together(remove("d"), make_directory("d"), put("d/a", b"y"), make_directory("d/e")),
            put("d/e/a", b"z"),
            together(remove("d/e"), make_directory("d/e"), put("d/e/a", b"w")),
            put("d/e/a", b"v"),
        ],
    ),
    "other names of a file": (
        {"f": b"0", "d/other": b"1"},
        [
            together(link("f", "g"), put("g", b"x")),
            together(link("f", "d/h"), put("d/h", b"y")),
            put("f", b"z"),
            remove("f"),
            put("g", b"w"),
        ],
    ),
    "other names that are ignored": (
        {"f": b"0", ".gitignore": b"ignored/\n*.log\n", "ignored/x": b"1", "d/x": b"2"},
        [
            together(link("f", "a.log"), put("a.log", b"by a name that is ignored")),
            put("a.log", b"again"),
            link("ignored/x", "d/y"),
            put("ignored/x", b"from a directory that is ignored"),
            together(put("ignored/x", b"and"), remove("d/x")),
            remove("a.log"),
            put("f", b"last"),
        ],
    ),
    "repositories inside": (
        {"n/a.log": b"1", "n/b.log": b"2", "n/c": b"3", ".gitignore": b"\n"},
        [git_inside("n", "init", "-q"), put("n/c", b"x"), remove("n/.git"), put("n/c", b"y")],
    ),
}


@pytest.mark.parametrize("at_once", [False, True], ids=["one by one", "at once"])
@pytest.mark.parametrize(("items", "edits"), SCENARIOS.values(), ids=SCENARIOS.keys())
def test_each_edit_is_in_the_snapshot_that_follows_it(
    tmp_path: Path, clock: str, items: Items, edits: list[Edit], at_once: bool
) -> None:
    bench = begin(tmp_path, items, clock)
    check(bench)
    play(bench, edits, at_once=at_once)
    check(bench)


@pytest.mark.parametrize("moves", [False, True], ids=["stays", "in a directory that moves"])
def test_a_store_to_a_mapped_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moves: bool) -> None:
    """To a page that was written to before, so that no time tells of it: that the file is closed is all there is."""
    # fanotify would report it, too
    monkeypatch.setattr(inotify_clock, "what_is_written", lambda _: None)
    bench = begin(tmp_path, {"d/m": b"0" * 5000, "e/m": b"0" * 5000})
    work_tree: Any = bench.workspace.work_tree
    check(bench)
    for name in ("d/m", "e/m", "d/m"):
        with open(bench.path(name), "r+b") as file:
            pages = mmap.mmap(file.fileno(), 0)
        pages[0:1] = b"1"
        for _ in range(2000):
            with open(bench.path(name), "r+b"):
                # told once more, so that it is read until its time is old enough to be believed
                pass
            bench.track()
            record = work_tree.state.root.file(os.fsencode(name))
            if record is not None and not is_racy_record(record):
                break
        pages[4000:4001] = b"%d" % (len(name) + 1)
        pages[0:1] = b"2" if pages[0:1] != b"2" else b"3"
        pages.close()
        if moves:
            os.rename(bench.path(name[0]), bench.path("moved"))
        check(bench)
        if moves:
            os.rename(bench.path("moved"), bench.path(name[0]))
        check(bench)


def test_a_repository_comes_to_the_root(tmp_path: Path, clock: str) -> None:
    bench = begin(tmp_path, {"a.log": b"1", "b.log": b"2", ".gitignore": b"*.log\n"}, clock)
    check(bench)
    run_git(bench.root, "init", "-q")
    check(bench)
    run_git(bench.root, "add", "-f", "a.log")
    check(bench)
    os.rename(bench.path(".git"), tmp_path / "away")
    check(bench)
    os.rename(tmp_path / "away", bench.path(".git"))
    check(bench)


def test_the_users_index_and_forced_paths(tmp_path: Path, clock: str) -> None:
    items = {".gitignore": b"*.log\nbuild/\n", "a.log": b"1", "d/b.log": b"2", "build/x/y": b"3", "build/z": b"4"}
    bench = begin(tmp_path, items, clock, git=True)
    check(bench)
    run_git(bench.root, "add", "-f", "a.log", "build/x/y")
    check(bench)
    bench.write({"build/x/y": b"in a directory that is ignored", "build/x/other": b"ignored"})
    check(bench)
    run_git(bench.root, "add", "-f", "d/b.log")
    run_git(bench.root, "rm", "-q", "-f", "--cached", "a.log", "build/x/y")
    check(bench)
    check(bench, "a.log", "build")
    bench.write({"a.log": b"5", "build/new/n": b"6"})
    check(bench, "a.log", "build")
    check(bench, "build/x")
    bench.write({"build/x/y": b"7", "build/z": b"8"})
    check(bench, "build/x")
    check(bench)
    check(bench, "build/z")
    run_git(bench.root, "rm", "-q", "-f", "--cached", "d/b.log")
    check(bench, "d/b.log")
    check(bench)


def cancelled_after(reports: int) -> Call:
    """A request that is taken back when it has reported so many times."""

    def report(message: str, done: int, total: int | None) -> None:
        nonlocal reports
        reports -= 1
        if reports < 0:
            call.cancel()

    call = Call(report)
    return call


def test_a_look_that_was_cancelled_leaves_no_verdict_behind(tmp_path: Path, clock: str) -> None:
    """What it put down and did not come to is judged by the next look, as everything is."""
    items: Items = {f"d/{at}/{name}": b"%d" % at for at in range(4) for name in ("x", "a.log", "build/o")}
    bench = begin(tmp_path, {"top": b"0"}, clock)
    check(bench)
    for after in range(8):
        if after % 2:
            bench.remove("d")
            bench.write({".gitignore": b"\n"})
            check(bench)
        bench.write({**items, "d/.gitignore": b"*.log\n", ".gitignore": b"build/\n%d\n" % after})
        call = cancelled_after(after)
        with pytest.raises(Cancelled):
            bench.take(call=call)
        check(bench)
        check(bench)


def test_the_watches_run_out_in_a_look_at_what_was_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = begin(tmp_path, {"a": b"0", "d/a": b"1"})
    check(bench)
    add, left = Inotify.add, 3

    def limited(self: Inotify, directory: int) -> int:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if left == 0:
            # in a directory that was looked at already, and of which nothing is told from now on
            bench.write({"d/a": b"changed meanwhile"})
        return add(self, directory)

    monkeypatch.setattr(Inotify, "add", limited)
    bench.write({f"new/{at}/{name}": b"%d" % at for at in range(6) for name in "ab"} | {"d/b": b"2"})
    check(bench)
    assert bench.workspace.snapshots.status().watcher == "none"
    bench.write({"a": b"3", "new/3/a": b"4", "d/c": b"5"})
    check(bench)


def test_a_directory_that_changes_within_the_clock_tick_in_which_it_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = begin(tmp_path, {"d/a": b"0", "e/a": b"1"}, "none")
    check(bench)
    real = listing.list_directory
    came: list[str] = []

    def listed(descriptor: int) -> Any:
        found = real(descriptor)
        if came or not os.readlink(f"/proc/self/fd/{descriptor}").endswith("work/d"):
            return found
        bench.write({"d/new": b"came after the listing"})
        came.append("d/new")
        # what a clock says that ticked before the listing, and not again until after it
        status = os.fstat(descriptor)
        return found._replace(mtime_ns=status.st_mtime_ns, ctime_ns=status.st_ctime_ns)

    monkeypatch.setattr(walker, "list_directory", listed)
    check(bench)
    assert came


@pytest.mark.parametrize("watcher", ["auto", "none"])
def test_a_file_that_is_moved_past_the_look_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, watcher: str
) -> None:
    """From a directory that is still to be listed into one that was."""
    bench = begin(tmp_path, {"top": b"0"}, watcher)
    check(bench)
    bench.write({"new/p/f": b"1", "new/q/f": b"2"})
    real = listing.list_directory
    seen: list[str] = []

    def listed(descriptor: int) -> Any:
        name = os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}"))
        if name in ("p", "q"):
            seen.append(name)
            if len(seen) == 2:
                os.rename(bench.path(f"new/{name}/f"), bench.path(f"new/{seen[0]}/moved"))
        return real(descriptor)

    monkeypatch.setattr(walker, "list_directory", listed)
    check(bench)
    assert len(seen) >= 2


def test_a_directory_that_is_moved_and_moved_back_while_it_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its new place took its watch over, and gave it back: the old place has to have another."""
    bench = begin(tmp_path, {"x/a/f": b"0", "y/g": b"1"})
    check(bench)
    consider, at = Walker.look_into, Walker.walk_marked
    back = False

    def in_order(self: Walker, marks: Marks, doubted: Any) -> None:
        # the new place first, whatever order the events came in
        ordered = sorted(marks.names.items(), key=lambda item: getattr(item[0], "name", b""), reverse=True)
        at(self, Marks(names=dict(ordered)), doubted)

    def moved_back(self: Walker, path: bytes, *rest: Any, **options: Any) -> None:
        nonlocal back
        consider(self, path, *rest, **options)
        if path == b"y" and not back:
            back = True
            os.rename(bench.path("y/b"), bench.path("x/a"))

    os.rename(bench.path("x/a"), bench.path("y/b"))
    monkeypatch.setattr(Walker, "walk_marked", in_order)
    monkeypatch.setattr(Walker, "look_into", moved_back)
    check(bench)
    assert back
    bench.write({"x/a/f": b"is this seen?"})
    check(bench)


def test_a_directory_whose_place_another_took_is_looked_at_before_what_is_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = begin(tmp_path, {"d/a": b"0", "e/a": b"1"})
    check(bench)
    at = Walker.walk_marked

    def below_first(self: Walker, marks: Marks, doubted: Any) -> None:
        at(self, Marks(names=dict(reversed(marks.names.items()))), doubted)

    monkeypatch.setattr(Walker, "walk_marked", below_first)
    for turn in range(3):
        os.rename(bench.path("d"), bench.path(f"away{turn}"))
        bench.write({"d/a": b"2", "d/e/b": b"3"})
        check(bench)
        bench.write({"d/a": b"4", f"away{turn}/a": b"5", "d/e/b": b"6"})
        check(bench)


def test_what_a_look_that_stores_nothing_found_out_is_in_the_next_snapshot() -> None:
    """An attribute of an unreadable file changes: that it is not captured must not be forgotten on the way."""
    with without_rights() as folder:
        bench = make(folder, {"a": b"1", "d/b": b"1", "d/secret": b"2"})
        os.chmod(bench.path("d/secret"), 0)
        first = bench.take()
        assert [(skip.path, skip.reason) for skip in first.skipped] == [(b"d/secret", SkipReason.UNREADABLE)]
        work_tree, read_tree = bench.workspace.work_tree, bench.workspace.store.read_tree
        os.chmod(bench.path("d/secret"), 0)
        work_tree.drift(DriftQuery(first.tree, read_tree, bench.workspace.policy.capture, (), 5, 1000), Call())
        assert bench.take() == attrs.evolve(first, previous=first.tree)
        os.chmod(bench.path("d/secret"), 0o600)
        assert outcomes(bench.restore(first.tree)) == {"d/secret": "kept:unreadable"}


def test_what_a_drift_found_is_in_the_snapshot_that_follows(tmp_path: Path, clock: str) -> None:
    bench = begin(tmp_path, {"a": b"0", "d/a": b"1"}, clock)
    check(bench)
    work_tree = bench.workspace.work_tree

    def drift() -> None:
        assert work_tree.scanner.stored_tree is not None
        read_tree = bench.workspace.store.read_tree
        work_tree.drift(
            DriftQuery(work_tree.scanner.stored_tree, read_tree, bench.workspace.policy.capture, (), 5, 1000), Call()
        )

    os.mkfifo(bench.path("d/pipe"))
    drift()
    check(bench)
    os.unlink(bench.path("d/pipe"))
    drift()
    check(bench)
    bench.write({"d/a": b"2"})
    os.mkfifo(bench.path("other"))
    drift()
    bench.write({"a": b"3"})
    check(bench)


def test_settings_that_change(tmp_path: Path, clock: str) -> None:
    bench = begin(tmp_path, {"a": b"0", "b.log": b"1" * 100, "d/b.log": b"2", "d/c": b"3" * 200}, clock)
    check(bench)
    check(bench, exclude=("*.log",))
    check(bench, exclude=("d",))
    bench.write({"d/c": b"4" * 200})
    check(bench, limit=150)
    check(bench, exclude=("*.log",), limit=150)
    check(bench, limit=99)
    check(bench)
    bench.write({"d/.gitignore": b"!b.log\n"})
    check(bench, exclude=("*.log",))
    check(bench)


def test_a_file_that_crosses_the_size_limit(tmp_path: Path, clock: str) -> None:
    bench = begin(tmp_path, {"d/a": b"0" * 10}, clock)
    for size in (10, 101, 100, 200, 0, 150):
        bench.write({"d/a": b"x" * size})
        check(bench, limit=100)
    os.link(bench.path("d/a"), bench.path("b"))
    check(bench, limit=100)
    os.truncate(bench.path("b"), 50)
    check(bench, limit=100)


@pytest.mark.parametrize("name", ["d", "d/e", "d/a"])
@pytest.mark.parametrize("watcher", ["auto", "none"])
def test_rights_that_are_taken_and_given_back(name: str, watcher: str) -> None:
    items: Items = {"d/a": b"0", "d/e/a": b"1", "b": b"2"}
    with without_rights() as folder:
        bench = begin(folder, items, watcher)
        check(bench)
        for turn in range(2):
            os.chmod(bench.path(name), 0)
            tracked = bench.take()
            assert [(skip.path, skip.reason.value) for skip in tracked.skipped] == [(name.encode(), "unreadable")]
            gone = {path for path in items if path == name or path.startswith(f"{name}/")}
            assert set(bench.names(tracked.tree)) == items.keys() - gone
            os.chmod(bench.path(name), 0o644 if name == "d/a" else 0o755)
            check(bench)
            bench.write({"d/e/a": b"%d" % turn, "d/a": b"later %d" % turn})
            check(bench)


def test_a_repository_inside_that_comes_and_goes_costs_nothing_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = begin(tmp_path, {".gitignore": b"*.log\n", "n/a.log": b"1", "n/d/b.log": b"2", "n/c": b"3"})
    listed: list[str] = []
    real = listing.list_directory

    def counted(descriptor: int) -> Any:
        listed.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        return real(descriptor)

    def settles(expected: set[str]) -> None:
        assert set(bench.names(bench.track())) == {".gitignore", "n/c", *expected}
        for _ in range(2000):
            listed.clear()
            bench.track()
            if not listed:
                return
        pytest.fail("what changed within a clock tick may be looked at again, but not for ever")

    monkeypatch.setattr(walker, "list_directory", counted)
    settles(set())
    run_git(bench.path("n"), "init", "-q")
    settles(set())
    run_git(bench.path("n"), "add", "-f", "a.log")
    settles({"n/a.log"})
    run_git(bench.path("n"), "add", "-f", "d/b.log")
    settles({"n/a.log", "n/d/b.log"})
    run_git(bench.path("n"), "rm", "-q", "-f", "--cached", "a.log")
    settles({"n/d/b.log"})
    os.rename(bench.path("n/.git"), tmp_path / "away")
    settles(set())
    os.rename(tmp_path / "away", bench.path("n/.git"))
    settles({"n/d/b.log"})
    shutil.rmtree(bench.path("n/.git"))
    settles(set())


IN_A_NAMESPACE = """
import subprocess, sys
from pathlib import Path
from snapd.model.call import Call
from tests.support.workspace import close_all, make

bench = make(Path(sys.argv[1]), {"d/a": b"0", "b": b"1", "g/e/c": b"2"}, watcher=sys.argv[2])

def seen():
    tracked = bench.take()
    return bench.names(tracked.tree), [(skip.path, skip.reason.value) for skip in tracked.skipped]

def gone(tree):
    return [change.path for change in bench.workspace.comparison.changed(tree, None, Call())]

before = bench.track()
assert seen() == (["b", "d/a", "g/e/c"], [])
for name in ("d", "g/e"):
    subprocess.run(["mount", "-t", "tmpfs", "none", bench.path(name)], check=True)
bench.write({"d/foreign": b"3"})
assert seen() == (["b"], [(b"d", "special"), (b"g/e", "special")]), seen()
assert gone(before) == []
for name in ("d", "g/e"):
    subprocess.run(["umount", bench.path(name)], check=True)
assert seen() == (["b", "d/a", "g/e/c"], []), seen()
bench.write({"d/a": b"4"})
bench.remove("g/e/c")
assert seen() == (["b", "d/a"], []), seen()
assert gone(before) == [b"d/a", b"g/e/c"]
close_all()
print("done")
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="namespaces are of Linux")
@pytest.mark.parametrize("watcher", ["auto", "none"])
def test_what_is_mounted_inside_is_not_crossed_into(tmp_path: Path, watcher: str) -> None:
    run_in_namespace(IN_A_NAMESPACE, str(tmp_path), watcher)
