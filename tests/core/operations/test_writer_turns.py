"""Who has the right to write, and that nobody gets it from a workspace that is closed."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from typing import TYPE_CHECKING

import pytest

from snapd.model.call import Call
from snapd.model.errors import Cancelled, WorkspaceNotOpen
from tests.support.workspace import make

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from snapd.core.operations.writer import Writer
    from tests.support.workspace import Bench

PATIENCE = 60.0

WAYS: dict[str, Callable[[Writer, Call], AbstractContextManager[object]]] = {
    "turn": lambda writer, call: writer.turn(call),
    "alone": lambda writer, call: writer.alone(call),
    "idle_turn": lambda writer, _: writer.idle_turn(),
}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = make(tmp_path, {"a": b"a"})
    yield bench
    bench.close()


@pytest.mark.parametrize("way", WAYS)
def test_a_closed_workspace_gives_nobody_the_right_to_write(bench: Bench, way: str) -> None:
    writer = bench.workspace.writer
    bench.close()
    with pytest.raises(WorkspaceNotOpen), WAYS[way](writer, Call()):
        pytest.fail("it was given")
    # given back all the same
    with writer.write_lock.closing() as is_first:
        assert not is_first


def test_a_repair_that_waited_for_a_close_touches_neither_the_next_folder_nor_the_next_owner(
    bench: Bench, tmp_path: Path
) -> None:
    """The number of the folder's descriptor goes to another folder, and the store to another process."""
    bench.track()
    stale = bench.workspace
    number = stale.work_tree.descriptor
    identity = os.fstat(number)
    failure: list[BaseException] = []

    def repair() -> None:
        try:
            stale.upkeep.repair(Call())
        except BaseException as error:
            failure.append(error)

    turn = contextlib.ExitStack()
    # what `close` does, by the one who has the right to write: the repair cannot come in between
    assert turn.enter_context(stale.writer.write_lock.closing())
    waiting = threading.Thread(target=repair)
    waiting.start()
    deadline = time.monotonic() + PATIENCE
    while not stale.writer.write_lock.waiting:
        assert time.monotonic() < deadline, "the repair does not wait for the right to write"
    stale.work_tree.close()
    stale.store.close()
    other = tmp_path / "other"
    other.mkdir()
    (other / "secret").write_bytes(b"of somebody else")
    taken = os.open(other, os.O_RDONLY)
    os.dup2(taken, number)
    try:
        assert os.fstat(number).st_ino != identity.st_ino
        turn.close()
        waiting.join(PATIENCE)
        assert [type(error) for error in failure] == [WorkspaceNotOpen]
    finally:
        for descriptor in {number, taken}:
            os.close(descriptor)


def test_closing_again_closes_no_descriptor_of_somebody_else(bench: Bench, tmp_path: Path) -> None:
    workspace = bench.workspace
    workspace.close()
    taken = [os.open(tmp_path, os.O_RDONLY) for _ in range(32)]
    workspace.close()
    for descriptor in taken:
        os.fstat(descriptor)
        os.close(descriptor)
    bench.is_open = False


def test_housekeeping_of_a_closed_workspace_does_nothing(bench: Bench) -> None:
    workspace = bench.workspace
    bench.close()
    assert workspace.upkeep.keep_house(0.0) is None


def test_whoever_waits_is_told_that_the_right_was_given_back(bench: Bench) -> None:
    told: list[str] = []
    bench.workspace.snapshots.track((), Call(left_turn=lambda: told.append("left")))
    assert told == ["left"]
    call = Call(left_turn=lambda: told.append("cancelled"))
    call.cancel()
    with pytest.raises(Cancelled):
        bench.workspace.snapshots.track((), call)
    assert told == ["left", "cancelled"]
