"""A file that a step moved is taken back with both its names, or not at all: whatever is in its way, it is there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from snapd.core.model import OnConflict
from snapd.core.together import Together
from snapd.worktree import apply as applying
from tests.support.sessions import Agents
from tests.support.workspace import Bench, make, without_rights

TEXT = b"a line of the file that moves\n" * 20
Block = Callable[[Bench, str], object]


@pytest.fixture
def agents(tmp_path: Path) -> Agents:
    made = Agents(make(tmp_path, {"old": TEXT, "keep": b"k", ".gitignore": b"*.log\n"}))
    made.start("one")
    return made


def fifo(bench: Bench, name: str) -> None:
    os.mkfifo(bench.path(name))


def folder_with_ignored(bench: Bench, name: str) -> None:
    bench.write({f"{name}/x.log": b"the user's"})


def made_ignored(bench: Bench, name: str) -> None:
    bench.write({".gitignore": b"*.log\n" + os.fsencode(name) + b"\n", name: b"the user's"})


def too_large(bench: Bench, name: str) -> None:
    bench.configure(max_file_size=1000)
    bench.write({name: bytes(2000)})


BLOCKS = [fifo, folder_with_ignored, made_ignored, too_large]


@pytest.mark.parametrize("on_conflict", ["merge", "fail", "overwrite"])
@pytest.mark.parametrize("block", BLOCKS)
def test_the_old_name_is_taken(agents: Agents, block: Block, on_conflict: OnConflict) -> None:
    bench = agents.bench
    step = agents.step("one", lambda: os.rename(bench.path("old"), bench.path("new")))
    block(bench, "old")
    before = bench.read()
    foretold = agents.undo("one", on_conflict=on_conflict, dry_run=True)
    assert foretold["new"] == "conflict:occupied"
    assert foretold["old"].startswith("skipped:")
    assert agents.undo("one", on_conflict=on_conflict) == foretold
    assert bench.read() == before
    assert before["new"] == TEXT
    # and once the way is free, it is done on request
    (bench.remove if os.path.isdir(bench.path("old")) else os.unlink)(bench.path("old"))
    if on_conflict == "fail":
        agents.undo("one")
    else:
        agents.undo("one", step=step)
    after = bench.read()
    assert (after["old"], "new" in after) == (TEXT, False)


@pytest.mark.parametrize("block", [fifo, folder_with_ignored, made_ignored])
def test_the_new_name_is_taken_when_it_is_done_again(agents: Agents, block: Block) -> None:
    bench = agents.bench
    agents.step("one", lambda: os.rename(bench.path("old"), bench.path("new")))
    agents.undo("one")
    block(bench, "new")
    before = bench.read()
    assert agents.redo("one")["old"] == "conflict:occupied"
    assert bench.read() == before
    assert before["old"] == TEXT


def test_moved_by_one_step_after_the_other(agents: Agents) -> None:
    bench = agents.bench
    agents.step("one", lambda: os.rename(bench.path("old"), bench.path("middle")))
    agents.step("one", lambda: os.rename(bench.path("middle"), bench.path("new")))
    fifo(bench, "old")
    agents.undo("one", count=2)
    assert bench.read()["new"] == TEXT


def test_one_that_makes_room_for_another(agents: Agents) -> None:
    """What stays because of one obstacle is itself in the way of another file that moved, which then stays as well."""
    bench = agents.bench
    bench.write({"room": b"another text, that moves as well\n" * 9})
    bench.track()

    def move() -> None:
        os.rename(bench.path("room"), bench.path("elsewhere"))
        os.mkdir(bench.path("room"))
        os.rename(bench.path("old"), bench.path("room/new"))

    agents.step("one", move)
    fifo(bench, "old")
    before = bench.read()
    said = agents.undo("one")
    assert bench.read() == before
    assert {name: said[name] for name in ("elsewhere", "room/new")} == {
        "elsewhere": "conflict:occupied", "room/new": "conflict:occupied",
    }  # fmt: skip


@pytest.fixture
def without() -> Iterator[Agents]:
    with without_rights() as folder:
        made = Agents(make(folder, {"locked/old": TEXT, "keep": b"k"}))
        made.start("one")
        yield made
        os.chmod(made.bench.path("locked"), 0o755)


def test_where_the_old_one_was_nobody_may_write(without: Agents) -> None:
    bench = without.bench
    without.step("one", lambda: os.rename(bench.path("locked/old"), bench.path("new")))
    os.chmod(bench.path("locked"), 0o555)
    assert without.undo("one") == {"locked/old": "failed:EACCES", "new": "failed:EACCES"}
    assert bench.read()["new"] == TEXT


def test_a_folder_takes_the_place_that_nobody_may_give_back(without: Agents) -> None:
    """What could not be put elsewhere keeps its place, and what was to have that place is told of."""
    bench = without.bench
    bench.write({"place": b"a file where the folder comes\n" * 9})
    bench.track()

    def move() -> None:
        os.unlink(bench.path("place"))
        os.mkdir(bench.path("place"))
        os.rename(bench.path("locked/old"), bench.path("place/new"))

    without.step("one", move)
    os.chmod(bench.path("locked"), 0o555)
    assert without.undo("one") == {
        "locked/old": "failed:EACCES", "place/new": "failed:EACCES", "place": "failed:inTheWay",
    }  # fmt: skip
    assert bench.read()["place/new"] == TEXT


def test_somebody_takes_the_old_name_in_the_very_moment(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = agents.bench
    agents.step("one", lambda: os.rename(bench.path("old"), bench.path("new")))
    move = applying.Applier._move

    def late(*arguments: object) -> None:
        bench.write({"old": b"the user's"})
        move(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(applying.Applier, "_move", late)
    agents.undo("one")
    monkeypatch.undo()
    after = bench.read()
    assert (after["old"], after["new"]) == (b"the user's", TEXT)


def test_into_the_folder_that_was_the_file(agents: Agents) -> None:
    """Here the one has to go first: it needs the place of the other."""
    bench = agents.bench

    def move() -> None:
        os.rename(bench.path("old"), bench.path("aside"))
        os.mkdir(bench.path("old"))
        os.rename(bench.path("aside"), bench.path("old/new"))

    before = bench.read()
    agents.step("one", move)
    after = bench.read()
    agents.undo("one")
    assert bench.read() == before
    agents.redo("one")
    assert bench.read() == after


def test_folders_go_with_the_files_that_move_out_of_them(agents: Agents) -> None:
    bench = agents.bench

    def move() -> None:
        os.makedirs(bench.path("d/e"))
        os.rename(bench.path("old"), bench.path("d/e/new"))

    before = bench.read()
    agents.step("one", move)
    agents.undo("one")
    assert bench.read() == before


def test_groups() -> None:
    together = Together([(b"a", b"b"), (b"c", b"d"), (b"x", b"y"), (b"b", b"c")])
    assert {path: sorted(together.others(path)) for path in (b"a", b"d", b"x", b"z")} == {
        b"a": [b"b", b"c", b"d"], b"d": [b"a", b"b", b"c"], b"x": [b"y"], b"z": [],
    }  # fmt: skip
    assert together.within({b"d", b"a", b"x"}) == ((b"a", b"d"),)
    again = Together.of(together.within({b"a", b"b", b"d", b"x", b"y"}))
    assert again.within({b"a", b"b", b"d", b"x", b"y"}) == ((b"a", b"b", b"d"), (b"x", b"y"))
