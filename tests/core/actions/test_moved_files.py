"""A file that a step moved is taken back with both its names, or not at all: whatever is in its way, it is there."""

from __future__ import annotations

import contextlib
import os
import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from snapd.model.errors import NothingToRedo, NothingToUndo
from snapd.model.plan import CapturedFile, Delete, LinkedFiles, Plan, Write
from snapd.model.snapshot import Entry, FileOutcome, OnConflict, Signature
from snapd.worktree.apply import applier as applying
from tests.support.amounts import amount
from tests.support.sessions import Agents, at_work
from tests.support.workspace import Bench, make, outcomes, without_rights

TEXT = b"a line of the file that moves\n" * 20
Block = Callable[[Bench, str], object]


@pytest.fixture
def agents(tmp_path: Path) -> Agents:
    return at_work(tmp_path, {"old": TEXT, "keep": b"k", ".gitignore": b"*.log\n"})


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


@pytest.mark.parametrize("on_conflict", ["merge", "fail"])
def test_an_ignored_file_at_the_old_name_conflicts(agents: Agents, on_conflict: OnConflict) -> None:
    bench = agents.bench
    agents.step("one", lambda: os.rename(bench.path("old"), bench.path("new")))
    made_ignored(bench, "old")
    before = bench.read()
    said = {"new": "conflict:occupied", "old": "conflict:occupied"}
    assert agents.undo("one", on_conflict=on_conflict, dry_run=True) == said
    assert agents.undo("one", on_conflict=on_conflict) == said
    assert bench.read() == before


def test_an_ignored_file_at_the_old_name_is_written_over_on_request(agents: Agents) -> None:
    bench = agents.bench
    agents.step("one", lambda: os.rename(bench.path("old"), bench.path("new")))
    made_ignored(bench, "old")
    said = {"new": "deleted", "old": "restored"}
    assert agents.undo("one", on_conflict="overwrite", dry_run=True) == said
    outcome, _ = agents.undone("one", on_conflict="overwrite")
    assert outcomes(outcome) == said
    assert bench.read()["old"] == TEXT
    assert bench.workspace.snapshots.file_at(outcome.before, b"old").data == b"the user's"


@pytest.mark.parametrize("on_conflict", ["merge", "fail", "overwrite"])
@pytest.mark.parametrize("block", [fifo, folder_with_ignored, too_large])
def test_the_old_name_is_taken(agents: Agents, block: Block, on_conflict: OnConflict) -> None:
    bench = agents.bench
    step = agents.step("one", lambda: os.rename(bench.path("old"), bench.path("new")))
    block(bench, "old")
    before = bench.read()
    expected_outcomes = agents.undo("one", on_conflict=on_conflict, dry_run=True)
    assert expected_outcomes["new"] == "conflict:occupied"
    assert expected_outcomes["old"].startswith("skipped:")
    assert agents.undo("one", on_conflict=on_conflict) == expected_outcomes
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


def users_file(bench: Bench, name: str) -> None:
    bench.write({name: b"the user's\n"})


@pytest.mark.parametrize("block", [*BLOCKS, users_file])
def test_moved_onto_another(agents: Agents, block: Block) -> None:
    """No rename tells of it: the one file was changed, and the other is gone."""
    bench = agents.bench
    other = b"what was there before\n" * 9
    bench.write({"other": other})
    bench.track()
    agents.step("one", lambda: os.replace(bench.path("old"), bench.path("other")))
    block(bench, "old")
    before = bench.read()
    said = agents.undo("one")
    assert said["other"] == "conflict:occupied"
    assert bench.read() == before
    assert before["other"] == TEXT


def test_two_change_their_names(agents: Agents) -> None:
    bench = agents.bench
    other = b"the other of the two\n" * 9
    bench.write({"other": other})
    bench.track()

    def swap() -> None:
        os.rename(bench.path("old"), bench.path("aside"))
        os.rename(bench.path("other"), bench.path("old"))
        os.rename(bench.path("aside"), bench.path("other"))

    agents.step("one", swap)
    # the user moves one of them, and something else comes where it was
    os.rename(bench.path("old"), bench.path("moved"))
    fifo(bench, "old")
    agents.undo("one")
    assert {TEXT, other} <= set(bench.read().values())


def test_a_copy_is_no_move(agents: Agents) -> None:
    """What a step made of a file goes, also where the file itself was changed since and stays."""
    bench = agents.bench
    agents.step("one", {"old": b"the agent's\n", "copy": TEXT})
    bench.write({"old": b"the user's\n"})
    assert agents.undo("one") == {"copy": "deleted", "old": "conflict:changedSince"}
    assert "copy" not in bench.read()


class Chaos:
    """An agent that moves files about and changes none of them, and a user who puts things in the way."""

    folders = ("", "d/", "d/e/", "f/")
    names = ("a", "b", "c", "u0", "u1", "u2", "u3")

    def __init__(self, agents: Agents, seed: int) -> None:
        self.agents = agents
        self.bench = agents.bench
        self.dice = random.Random(seed)
        self.contents = frozenset(self.found())
        self.ignored: set[str] = set()

    def found(self) -> dict[bytes, str]:
        """The name of each content."""
        items = self.bench.read().items()
        return {item: name for name, item in items if isinstance(item, bytes) and item.startswith(b"unique")}

    def path(self) -> str:
        return self.dice.choice(self.folders) + self.dice.choice(self.names)

    def is_ignored(self, path: str) -> bool:
        return not self.ignored.isdisjoint(path.split("/"))

    def move(self) -> None:
        free = [name for name in self.found().values() if not self.is_ignored(name)]
        source, target = self.dice.choice(free), self.path()
        if os.path.isdir(self.bench.path(target)) or os.path.exists(self.bench.path(target)) or self.is_ignored(target):
            return
        with contextlib.suppress(FileExistsError, NotADirectoryError):
            os.makedirs(os.path.dirname(self.bench.path(target)), exist_ok=True)
            os.rename(self.bench.path(source), self.bench.path(target))

    def into_a_folder_of_its_name(self) -> None:
        name = self.dice.choice(sorted(self.found().values()))
        if not self.is_ignored(name):
            os.rename(self.bench.path(name), self.bench.path("aside"))
            os.mkdir(self.bench.path(name))
            os.rename(self.bench.path("aside"), self.bench.path(f"{name}/in"))

    def obstruct(self) -> None:
        path = self.bench.path(self.path())
        with contextlib.suppress(FileExistsError, NotADirectoryError):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            kind = self.dice.choice(["fifo", "folder", "ignored", "file"])
            if kind == "fifo":
                os.mkfifo(path)
            else:
                os.mkdir(path)
            if kind == "ignored":
                Path(path, "x.log").write_bytes(b"the user's")
            elif kind == "file":
                os.rmdir(path)
                Path(path).write_bytes(b"%d\n" % self.dice.randrange(10**6))

    def ignore(self) -> None:
        busy = {part for name in self.found().values() for part in name.split("/")}
        self.ignored = {self.dice.choice(self.names) for _ in range(2)} - busy
        self.bench.write({".gitignore": "".join(f"{name}\n" for name in ("*.log", *sorted(self.ignored))).encode()})

    def take_back(self) -> None:
        policies: list[OnConflict] = ["merge", "fail", "overwrite"]
        count, policy = self.dice.randint(1, 4), self.dice.choice(policies)
        with contextlib.suppress(NothingToUndo, NothingToRedo):
            (self.agents.undo if self.dice.random() < 0.6 else self.agents.redo)("one", count, on_conflict=policy)

    def go_on(self) -> None:
        at_work = [self.move, self.move, self.move, self.into_a_folder_of_its_name]
        what = self.dice.choices(["step", "obstruct", "ignore", "reopen", "take back"], [45, 20, 5, 5, 25])[0]
        if what == "step":
            moves = self.dice.choices(at_work, k=self.dice.randint(1, 6))
            self.agents.step("one", lambda: [move() for move in moves])
        elif what == "reopen":
            self.bench.reopen()
        else:
            {"obstruct": self.obstruct, "ignore": self.ignore, "take back": self.take_back}[what]()


@pytest.mark.parametrize("seed", [*range(amount(5, 200)), 21, 22, 119, 130, 164])
def test_nothing_that_only_moved_is_ever_gone(tmp_path: Path, seed: int) -> None:
    items = {f"u{number}": b"unique %d\n" % number * (number + 5) for number in range(4)}
    chaos = Chaos(Agents(make(tmp_path, {**items, ".gitignore": b"*.log\n"})), seed)
    chaos.agents.start("one")
    for turn in range(40):
        chaos.go_on()
        assert chaos.found().keys() == chaos.contents, turn


@pytest.fixture
def without() -> Iterator[Agents]:
    with without_rights() as folder:
        made = at_work(folder, {"locked/old": TEXT, "keep": b"k"})
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
    move = applying.Applier.move

    def late(*arguments: object) -> None:
        bench.write({"old": b"the user's"})
        move(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(applying.Applier, "move", late)
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
    linked = LinkedFiles([(b"a", b"b"), (b"c", b"d"), (b"x", b"y"), (b"b", b"c")])
    assert {path: sorted(linked.others(path)) for path in (b"a", b"d", b"x", b"z")} == {
        b"a": [b"b", b"c", b"d"], b"d": [b"a", b"b", b"c"], b"x": [b"y"], b"z": [],
    }  # fmt: skip
    assert linked.within({b"d", b"a", b"x"}) == ((b"a", b"d"),)
    again = LinkedFiles.of(linked.within({b"a", b"b", b"d", b"x", b"y"}))
    assert again.within({b"a", b"b", b"d", b"x", b"y"}) == ((b"a", b"b", b"d"), (b"x", b"y"))


def moves(outcomes: Iterable[FileOutcome]) -> dict[bytes, bytes]:
    return {found.path: found.renamed_from for found in outcomes if found.renamed_from is not None}


def test_an_undo_says_where_files_come_from(agents: Agents) -> None:
    bench = agents.bench

    def work() -> None:
        os.rename(bench.path("old"), bench.path("new"))
        bench.write({"new": TEXT + b"and more\n", "other": b"o", "keep": b"K"})

    agents.step("one", work)
    told = agents.undone("one", dry_run=True)[0]
    assert {found.path: found.outcome for found in told.files}[b"new"] == "deleted"
    assert moves(told.files) == {b"old": b"new"}
    assert moves(agents.undone("one")[0].files) == {b"old": b"new"}
    assert moves(agents.redone("one").files) == {b"new": b"old"}


def test_a_restore_says_where_files_come_from(agents: Agents) -> None:
    bench = agents.bench
    bench.write({"empty": b"", "twin": TEXT})
    before = bench.track()
    for old, new in (("old", "a/b"), ("empty", "a/empty")):
        os.makedirs(bench.path("a"), exist_ok=True)
        os.rename(bench.path(old), bench.path(new))
    os.unlink(bench.path("twin"))
    # one of two with the same contents; and nobody can say where an empty file comes from
    for dry_run in (True, False):
        assert moves(bench.restore(before, dry_run=dry_run).files) == {b"old": b"a/b"}


def test_no_move_is_told_that_did_not_come_about(agents: Agents) -> None:
    bench = agents.bench
    agents.step("one", lambda: os.rename(bench.path("old"), bench.path("new")))
    bench.write({"old": b"the user's"})
    told = agents.undone("one")[0]
    assert moves(told.files) == {}


@pytest.mark.parametrize(("became", "told"), [("deleted", {b"new": b"old"}), ("failed", {}), ("kept", {})])
def test_a_file_that_is_still_there_was_not_moved(became: Any, told: dict[bytes, bytes]) -> None:
    entry = Entry(0o100644, b"1" * 20)
    plan = Plan((Write(b"new", entry, None),), (Delete(b"old", CapturedFile(entry, Signature(1, 2, 3, 4, 5))),))
    assert moves(plan.expected_outcomes()) == {b"new": b"old"}
    assert moves(plan.with_moves([FileOutcome(b"new", "restored"), FileOutcome(b"old", became)])) == told
