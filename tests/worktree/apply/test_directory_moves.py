"""A folder that moved is moved back as a whole: with what is not captured in it, and losing nothing at any moment."""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from snapd import failpoints
from snapd.model.call import Call
from snapd.model.plan import Delete, MoveDirectory, Plan, Write
from snapd.model.snapshot import EXECUTABLE, Entry, Outcome
from snapd.worktree.apply import directories
from tests.support import renames
from tests.support.amounts import amount
from tests.support.failures import at_failpoint, killed_at
from tests.support.sessions import Agents
from tests.support.workspace import Bench, Items, Symlink, make, outcomes

FOLDER: Items = {
    "old/a": b"one\n",
    "old/b/c": b"two\n",
    "old/b/d/e": b"three\n",
    "old/link": Symlink("a"),
    "kept": b"k",
}


def moved(items: Items, old: str, new: str) -> Items:
    """The items with a directory moved."""
    return {new + name[len(old) :] if name.startswith(old + "/") else name: item for name, item in items.items()}


def move(bench: Bench, old: str, new: str) -> None:
    os.makedirs(os.path.dirname(bench.path(new)), exist_ok=True)
    os.rename(bench.path(old), bench.path(new))


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Counts what the work comes to."""
    passed: Counter[str] = Counter()
    failpoints.listener = lambda point: passed.update([point])
    try:
        yield passed
    finally:
        failpoints.listener = None


def inodes(bench: Bench) -> set[int]:
    return {os.lstat(os.path.join(above, name)).st_ino for above, _, names in os.walk(bench.root) for name in names}


def as_a_whole(bench: Bench, work: Callable[[], Any], times: int = 1) -> Any:
    """Does something that moves folders as a whole, and writes and deletes nothing."""
    before = inodes(bench)
    with counted() as passed:
        result = work()
    assert passed["apply.directory_moved"] == times
    assert not passed["apply.write"] + passed["apply.delete"]
    assert inodes(bench) == before
    return result


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return make(tmp_path, FOLDER)


def test_a_restore_renames_the_folder(bench: Bench) -> None:
    tree = bench.track()
    move(bench, "old", "somewhere/else/new")
    now = bench.track()
    expected_outcomes = bench.restore(tree, dry_run=True)
    done = as_a_whole(bench, lambda: bench.restore(tree))
    assert bench.read() == FOLDER
    assert done.files == expected_outcomes.files
    assert outcomes(done) == {
        **{name: "restored" for name in FOLDER if name != "kept"},
        **{name: "deleted" for name in moved(FOLDER, "old", "somewhere/else/new") if name != "kept"},
    }
    assert {file.path: file.renamed_from for file in done.files}[b"old/b/c"] == b"somewhere/else/new/b/c"
    assert bench.track() == tree
    # and forth again
    as_a_whole(bench, lambda: bench.restore(now))
    assert bench.read() == moved(FOLDER, "old", "somewhere/else/new")


def test_undo_and_redo_rename_the_folder(bench: Bench) -> None:
    agents = Agents(bench)
    session = agents.start()
    agents.step(session, lambda: move(bench, "old", "new"))
    as_a_whole(bench, lambda: agents.undo(session))
    assert bench.read() == FOLDER
    as_a_whole(bench, lambda: agents.redo(session))
    assert bench.read() == moved(FOLDER, "old", "new")


def test_what_is_not_captured_travels_along(bench: Bench) -> None:
    bench.write({".gitignore": b"*.log\nbuild/\n"})
    tree = bench.track()
    bench.write({"old/b/x.log": b"ignored", "old/build/out": b"ignored, too", "old/b/.git/config": b"a repository"})
    move(bench, "old", "new")
    bench.track()
    as_a_whole(bench, lambda: bench.restore(tree))
    assert sorted(os.listdir(bench.root)) == [".gitignore", "kept", "old"]
    assert bench.read()["old/b/x.log"] == b"ignored"
    assert bench.read()["old/build/out"] == b"ignored, too"
    assert Path(bench.path("old/b/.git/config")).read_bytes() == b"a repository"


@pytest.mark.parametrize("same_name", [True, False])
def test_what_is_not_captured_goes_with_the_right_one_of_equal_folders(tmp_path: Path, same_name: bool) -> None:
    items: Items = {f"{above}/{name}/f": b"the same\n" for above in "xy" for name in "mn"} | {".gitignore": b"*.log\n"}
    bench = make(tmp_path, items)
    tree = bench.track()
    for above in "xy":
        for name in "mn":
            bench.write({f"{above}/{name}/{above}{name}.log": b""})
    if same_name:
        os.rename(bench.path("y/m"), bench.path("z"))
        os.makedirs(bench.path("w"))
        os.rename(bench.path("z"), bench.path("w/m"))
        os.rename(bench.path("x/n"), bench.path("w/n"))
    else:
        os.rename(bench.path("y/m"), bench.path("one"))
        os.rename(bench.path("x/n"), bench.path("two"))
    bench.track()
    bench.restore(tree)
    read = bench.read()
    assert {name: item for name, item in read.items() if not name.endswith(".log")}.items() >= items.items()
    assert {"y/m/ym.log", "x/n/xn.log"} <= read.keys()


def test_a_folder_that_was_edited_moves(bench: Bench) -> None:
    tree = bench.track()
    move(bench, "old", "new")
    bench.write({"new/a": b"edited", "new/more": b"m"})
    bench.track()
    with counted() as passed:
        bench.restore(tree)
    assert bench.read() == FOLDER
    assert (passed["apply.directory_moved"], passed["apply.write"], passed["apply.delete"]) == (1, 1, 1)


def test_a_file_of_the_same_name_first_makes_room(bench: Bench) -> None:
    tree = bench.track()
    move(bench, "old", "new")
    bench.write({"old": b"a file\n"})
    bench.track()
    bench.restore(tree)
    assert bench.read() == FOLDER


@pytest.mark.parametrize("there", ["an empty folder", "ignored files"])
def test_what_is_at_the_new_path_is_left_alone(bench: Bench, there: str) -> None:
    bench.write({".gitignore": b"*.log\n"})
    tree = bench.track()
    move(bench, "old", "new")
    theirs: Items = {"old/b/": None} if there == "an empty folder" else {"old/b/x.log": b"theirs"}
    bench.write(theirs)
    bench.track()
    with counted() as passed:
        bench.restore(tree)
    # if the disk is full, that shows before anything moves
    assert passed["apply.move_directory"] == passed["apply.directory_moved"]
    kept = {} if there == "an empty folder" else theirs
    assert bench.read() == {**FOLDER, ".gitignore": b"*.log\n", **kept}


def test_an_empty_folder_in_it_is_as_the_snapshot_has_it(tmp_path: Path) -> None:
    with_empty: Items = {"old/a": b"1\n", "old/empty/": None}
    bench = make(tmp_path, with_empty)
    tree = bench.track()
    move(bench, "old", "new")
    os.rmdir(bench.path("new/empty"))
    os.mkdir(bench.path("new/other"))
    without = bench.track()
    bench.restore(tree)
    assert bench.read() == with_empty
    move(bench, "old", "new")
    bench.track()
    as_a_whole(bench, lambda: bench.restore(tree))
    assert bench.read() == with_empty
    assert without != tree


def test_folders_that_moved_into_each_other(tmp_path: Path) -> None:
    items: Items = {"a/f": b"1\n", "a/g/h": b"2\n", "b/f": b"3\n", "c/f": b"4\n"}
    bench = make(tmp_path, items)
    tree = bench.track()
    move(bench, "c", "a/n")
    move(bench, "a", "b/m")
    move(bench, "b", "z")
    now, then = bench.track(), bench.read()
    bench.restore(tree)
    assert bench.read() == items
    bench.restore(now)
    assert bench.read() == then
    # into itself
    bench.restore(tree)
    move(bench, "a", "tmp")
    os.mkdir(bench.path("a"))
    move(bench, "tmp", "a/a")
    bench.track()
    bench.restore(tree)
    assert bench.read() == items


@pytest.mark.parametrize("source", ["0", "x"])
@pytest.mark.parametrize("outer", ["a", "z"])
def test_a_folder_does_not_take_along_what_moves_into_it(tmp_path: Path, outer: str, source: str) -> None:
    items: Items = {f"{outer}/n/f": b"1\n", "b/f": b"2\n"}
    bench = make(tmp_path, items)
    tree = bench.track()
    bench.become({f"{source}/f": b"1\n", f"{outer}/f": b"2\n"})
    bench.track()
    bench.restore(tree)
    assert bench.read() == items


def test_a_folder_does_not_take_along_what_is_written_in_its_place(tmp_path: Path) -> None:
    items: Items = {"a/q/f": b"1\n", "b/f": b"2\n"}
    bench = make(tmp_path, items)
    tree = bench.track()
    bench.become({"a/f": b"2\n"})
    bench.track()
    as_written = {"apply.directory_moved": 1, "apply.write": 1}
    with counted() as passed:
        bench.restore(tree)
    assert {point: passed[point] for point in as_written} == as_written
    assert bench.read() == items


def test_a_folder_that_stays_is_not_moved_with_what_left_it(tmp_path: Path) -> None:
    items: Items = {"new/a": b"1\n", "old/b": b"2\n"}
    bench = make(tmp_path, items)
    tree = bench.track()
    bench.become({"old/a": b"1\n", "old/b": b"2\n"})
    bench.track()
    bench.restore(tree)
    assert bench.read() == items


def test_an_undo_moves_each_of_equal_folders_to_where_it_was(tmp_path: Path) -> None:
    bench = make(tmp_path, {"x/f": b"1\n", "y/f": b"1\n"})
    agents = Agents(bench)
    session = agents.start()
    places = {name: os.stat(bench.path(name)).st_ino for name in ("x", "y")}
    # each was a step of its own, or nobody could know
    agents.step(session, lambda: move(bench, "x", "q"))
    agents.step(session, lambda: move(bench, "y", "p"))
    as_a_whole(bench, lambda: agents.undo(session, 2), times=2)
    assert {name: os.stat(bench.path(name)).st_ino for name in ("x", "y")} == places


def test_a_folder_stays_if_what_belongs_to_a_file_in_it_cannot_be_done(tmp_path: Path) -> None:
    bench = make(tmp_path, {"e/f": b"1\n", "x": b"1\n"})
    bench.track()
    work_tree = bench.workspace.work_tree
    there = work_tree.captured(b"e/f")
    replaced = work_tree.captured(b"x")
    assert there is not None
    assert replaced is not None
    plan = Plan(
        writes=(Write(b"d/f", there.entry, None), Write(b"x", Entry(EXECUTABLE, there.entry.oid), replaced)),
        deletes=(Delete(b"e/f", there),),
        linked=((b"d/f", b"e/f", b"x"),),
        moves=(MoveDirectory(b"e", b"d"),),
    )

    def refuse() -> None:
        raise PermissionError(errno.EACCES, "refused")

    with at_failpoint("apply.stage", refuse):
        done = work_tree.apply(plan, lambda _: iter([b"1\n"]), Call())
    assert {file.outcome for file in done} == {"failed"}
    assert bench.read() == {"e/f": b"1\n", "x": b"1\n"}


def test_folders_that_changed_places(tmp_path: Path) -> None:
    items: Items = {"a/f": b"1\n", "a/g/h": b"2\n", "b/f": b"3\n"}
    bench = make(tmp_path, items)
    agents = Agents(bench)
    session = agents.start()

    def swap() -> None:
        move(bench, "a", "tmp")
        move(bench, "b", "a")
        move(bench, "tmp", "b")

    agents.step(session, swap)
    agents.undo(session)
    assert bench.read() == items


@pytest.mark.parametrize("code", [errno.EXDEV, errno.EBUSY, errno.EACCES, errno.EIO])
def test_where_the_system_refuses_each_file_is_moved(bench: Bench, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """A directory of the lower layer of an overlay cannot be renamed, for example."""
    tree = bench.track()
    move(bench, "old", "new")
    bench.track()

    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(directories, "rename_no_replace", refuse)
    expected_outcomes = bench.restore(tree, dry_run=True)
    assert bench.restore(tree).files == expected_outcomes.files
    assert bench.read() == FOLDER


@pytest.mark.parametrize("mode", renames.MODES)
def test_on_every_system(bench: Bench, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    tree = bench.track()
    move(bench, "old", "new")
    bench.track()
    renames.force(monkeypatch, mode)
    as_a_whole(bench, lambda: bench.restore(tree))
    assert bench.read() == FOLDER


def done_meanwhile(bench: Bench, point: str, then: Callable[[], object]) -> Outcome:
    tree = bench.track()
    move(bench, "old", "new")
    bench.track()
    with at_failpoint(point, then):
        return bench.restore(tree)


def test_a_file_that_changed_before_stays_where_it_is(bench: Bench) -> None:
    done = done_meanwhile(bench, "writer.apply", lambda: bench.write({"new/b/c": b"the user's"}))
    said = outcomes(done)
    assert said["new/b/c"] == "conflict:changedMeanwhile"
    assert bench.read() == {**FOLDER, "new/b/c": b"the user's"}


@pytest.mark.parametrize("how", ["in place", "as a new file", "deleted"])
def test_a_file_that_changed_in_the_very_moment_travels_along(bench: Bench, how: str) -> None:
    def act() -> None:
        path = Path(bench.path("new/b/c"))
        if how == "in place":
            path.write_bytes(b"the user's")
        else:
            path.unlink()
            if how == "as a new file":
                path.write_bytes(b"the user's")

    done = done_meanwhile(bench, "apply.move_directory", act)
    said = outcomes(done)
    assert (said["old/b/c"], said["new/b/c"]) == ("conflict:changedMeanwhile", "conflict:changedMeanwhile")
    assert said["old/a"] == "restored"
    theirs: Items = {name: item for name, item in FOLDER.items() if name != "old/b/c"}
    if how != "deleted":
        theirs = {**theirs, "old/b/c": b"the user's"}
    else:
        assert done.after == bench.track()
    assert {name: item for name, item in bench.read().items() if item is not None} == theirs
    # what was there is in the snapshot that was taken first
    bench.restore(done.before)
    assert bench.read() == moved(FOLDER, "old", "new")


def test_another_folder_that_has_the_name_by_now_stays(bench: Bench) -> None:
    def act() -> None:
        os.rename(bench.path("new"), bench.path("away"))
        bench.write({"new/theirs": b"t"})

    done = done_meanwhile(bench, "apply.move_directory", act)
    assert "deleted" not in outcomes(done).values()
    assert bench.read() == {**moved(FOLDER, "old", "away"), **FOLDER, "new/theirs": b"t"}


def test_somebody_takes_the_new_name_in_the_very_moment(bench: Bench) -> None:
    done = done_meanwhile(bench, "apply.move_directory", lambda: bench.write({"old/b/c": b"theirs"}))
    said = outcomes(done)
    assert said["old/b/c"] in ("failed:inTheWay", "conflict:changedMeanwhile")
    assert said["old/a"] == "restored"
    assert bench.read()["old/b/c"] == b"theirs"


@pytest.mark.parametrize("point", ["apply.move_directory", "apply.directory_moved", "apply.commit", "writer.conclude"])
def test_what_was_cut_short_is_finished(bench: Bench, point: str) -> None:
    agents = Agents(bench)
    session = agents.start()
    agents.step(session, lambda: move(bench, "old", "new"))
    with killed_at(point):
        agents.undo(session)
    bench.reopen()
    bench.track()
    assert bench.read() == FOLDER
    assert agents.states(session) == ["undone"]
    agents.redo(session)
    assert bench.read() == moved(FOLDER, "old", "new")


def test_the_store_keeps_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = make(tmp_path, FOLDER)
    tree = bench.track()
    move(bench, "old", "new")
    bench.track()
    monkeypatch.setattr(bench.workspace.work_tree, "hidden", b"new/b/store")
    with counted() as passed:
        bench.restore(tree)
    assert bench.read() == FOLDER
    # what has the store in it is done file by file; what is beside it is not
    assert passed["apply.write"] == 3


def test_empty_files_do_not_say_where_they_came_from(tmp_path: Path) -> None:
    """They are everywhere, and what is ignored beside one has nothing to do with another."""
    bench = make(tmp_path, {"one/__init__.py": b"", ".gitignore": b"*.log\n"})
    tree = bench.track()
    bench.remove("one")
    bench.write({"two/__init__.py": b"", "two/x.log": b"i"})
    bench.track()
    bench.restore(tree)
    assert bench.read() == {"one/__init__.py": b"", ".gitignore": b"*.log\n", "two/x.log": b"i"}


# -- anything, in any order

_NAMES = ("a", "b", "c")
_TEXTS = (b"", b"1\n", b"2\n", b"a\nb\n")


def _paths(dice: Random) -> str:
    return "/".join(dice.choices(_NAMES, k=dice.choice((1, 2, 2, 3))))


def _random_items(dice: Random) -> dict[str, bytes]:
    items: dict[str, bytes] = {}
    for _ in range(dice.randrange(1, 12)):
        path = _paths(dice) + "/" + dice.choice(("f", "g", "h"))
        items[path] = dice.choice(_TEXTS)
    return items


def _moves_and_edits(dice: Random, items: dict[str, bytes]) -> dict[str, bytes]:
    items = dict(items)
    for _ in range(dice.randrange(1, 5)):
        old, new = _paths(dice), _paths(dice)
        inside = [path for path in items if path.startswith(old + "/")]
        is_free = not any(path.startswith(new + "/") or new.startswith(path + "/") for path in items)
        if dice.random() < 0.7:
            if inside and is_free and not new.startswith(old + "/"):
                for path in inside:
                    items[new + path[len(old) :]] = items.pop(path)
        elif inside and dice.random() < 0.5:
            items[dice.choice(inside)] = dice.choice(_TEXTS)
        elif inside and is_free and new not in items:
            items[new + "/f"] = items.pop(dice.choice(inside))
    return items


def _become(bench: Bench, items: dict[str, bytes], ignored: dict[str, bytes]) -> None:
    bench.become({".gitignore": b"*.log\n", **items, **ignored})


@pytest.mark.parametrize("seed", range(amount(40, 1500)))
def test_any_moves_and_edits_are_restored(tmp_path: Path, seed: int) -> None:
    """Whatever moved: the files are those of the snapshot, and every ignored file is there, once."""
    dice = Random(seed)
    first = _random_items(dice)
    second = _moves_and_edits(dice, first)
    bench = make(tmp_path, {})
    folders = sorted({os.path.dirname(path) for path in second})
    ignored = {f"{dice.choice(folders)}/{number}.log": b"%d" % number for number in range(dice.randrange(3))}
    _become(bench, first, {})
    tree = bench.track()
    _become(bench, second, ignored)
    now = bench.track()
    for wanted, items in ((tree, first), (now, second), (tree, first)):
        expected_outcomes = bench.restore(wanted, dry_run=True)
        done = bench.restore(wanted)
        assert done.files == expected_outcomes.files
        read = bench.read()
        logs = {os.path.basename(name): item for name, item in read.items() if name.endswith(".log")}
        assert logs == {os.path.basename(name): item for name, item in ignored.items()}
        files = {name: item for name, item in read.items() if item is not None and not name.endswith(".log")}
        assert files == {".gitignore": b"*.log\n", **items}
        assert bench.track() == wanted
