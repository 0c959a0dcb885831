"""A cancel, and the end of the process, are heard in every phase of every operation: wherever they come.

Each operation is done again and again, and taken back after a part of it; what it does from then on is counted, in
calls of functions. So every phase has its turn, also one that does not exist yet.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest

from snapd import failpoints
from snapd.core.call import Call
from snapd.core.errors import Cancelled, Interrupted
from snapd.core.operations.writer import OperationOptions
from tests.support.amounts import amount
from tests.support.counting import calls_of
from tests.support.sessions import Agents
from tests.support.workspace import Bench, Items, make

FILES = amount(60, 150)
POINTS = amount(10, 24)
"""Into so many parts an operation is divided: at the end of each but the last it is cancelled, or the process ends."""
REST = 120
"""Calls for each file, at most, after that: those of 20,000 files take less than half a second."""

Act = Callable[[Call], Any]


def flat(text: bytes) -> Items:
    return {f"f{at}": b"%b %d\n" % (text, at) for at in range(FILES)}


@attrs.frozen
class Ready:
    """An operation that is about to be done.

    Attributes:
        act: does it.
        ends: the states of the folder that it may leave once it is ended, besides that from before.
    """

    bench: Bench
    act: Act
    ends: tuple[Items, ...] = ()


def request(*, dry_run: bool = False) -> OperationOptions:
    return OperationOptions("merge", False, dry_run)


def tracking(folder: Path) -> Ready:
    bench = make(folder, flat(b"one"))
    return Ready(bench, lambda call: bench.take(call=call))


def tracking_deep_directories(folder: Path) -> Ready:
    bench = make(folder, {f"d{at}/e/f": b"%d" % at for at in range(FILES)})
    return Ready(bench, lambda call: bench.take(call=call))


def changed(folder: Path) -> tuple[Bench, bytes]:
    bench = make(folder, flat(b"one"))
    then = bench.track()
    bench.write(flat(b"two"))
    bench.track()
    return bench, then


def restoring(folder: Path) -> Ready:
    bench, then = changed(folder)
    return Ready(bench, lambda call: bench.restore(then, call=call), (flat(b"one"),))


def foreseeing(folder: Path) -> Ready:
    bench, then = changed(folder)
    names = [name.encode() for name in flat(b"")]
    return Ready(bench, lambda call: bench.workspace.revert([(then, names)], request(dry_run=True), call))


def reverting(folder: Path) -> Ready:
    bench, then = changed(folder)
    names = [name.encode() for name in flat(b"")]
    return Ready(bench, lambda call: bench.workspace.revert([(then, names)], request(), call), (flat(b"one"),))


def deleting(folder: Path) -> Ready:
    bench = make(folder, {"kept": b""})
    then = bench.track()
    bench.write({f"d{at}/f": b"" for at in range(FILES)})
    bench.track()
    return Ready(bench, lambda call: bench.restore(then, call=call), ({"kept": b""},))


def making_directories(folder: Path) -> Ready:
    then: Items = {f"d{at}/": None for at in range(FILES)} | {"kept": b""}
    bench = make(folder, then)
    tree = bench.track()
    bench.become({"kept": b""})
    # another tree, since a hash says nothing of empty directories
    bench.write({"new": b""})
    bench.track()
    return Ready(bench, lambda call: bench.restore(tree, call=call), (then,))


def restoring_ignored_files(folder: Path) -> Ready:
    bench = make(folder, flat(b"one"))
    then = bench.track()
    bench.write({".gitignore": b"f*\n", **flat(b"two")})
    bench.track()
    return Ready(bench, lambda call: bench.restore(then, call=call), (flat(b"one"),))


def merging_an_undo(folder: Path) -> Ready:
    def texts(first: bytes, last: bytes) -> Items:
        return {f"f{at}": b"\n".join([first, *b"a b c d e f %d".split(), b"%d" % at, last]) for at in range(FILES)}

    bench = make(folder, texts(b"one", b"one"))
    agents = Agents(bench)
    session = agents.start()
    agents.step(session, texts(b"two", b"one"))
    bench.write(texts(b"two", b"user"))
    return Ready(
        bench,
        lambda call: bench.workspace.undo_steps.undo(session, 1, None, request(), call),
        (texts(b"one", b"user"),),
    )


def redoing(folder: Path) -> Ready:
    bench = make(folder, flat(b"one"))
    agents = Agents(bench)
    session = agents.start()
    agents.step(session, flat(b"two"))
    agents.undo(session)
    return Ready(bench, lambda call: bench.workspace.undo_steps.redo(session, 1, request(), call), (flat(b"two"),))


def steps(folder: Path) -> tuple[Agents, str, Items, Items]:
    before: Items = {"kept": b""}
    agents = Agents(make(folder, before))
    session = agents.start()
    after = dict(before)
    for at in range(FILES // 3):
        after[f"f{at}"] = b"%d" % at
        agents.step(session, {f"f{at}": b"%d" % at}, message="m")
    return agents, session, before, after


def reverting_a_session(folder: Path) -> Ready:
    agents, session, before, _ = steps(folder)
    undo_steps = agents.bench.workspace.undo_steps
    return Ready(agents.bench, lambda call: undo_steps.revert(session, "m", None, request(), call), (before,))


def unreverting_a_session(folder: Path) -> Ready:
    agents, session, _, after = steps(folder)
    agents.revert(session, "m")
    undo_steps = agents.bench.workspace.undo_steps
    return Ready(agents.bench, lambda call: undo_steps.unrevert(session, request(), call), (after,))


def showing_a_session(folder: Path) -> Ready:
    agents, session, _, _ = steps(folder)
    session_diff = agents.bench.workspace.session_diff
    return Ready(
        agents.bench, lambda call: session_diff(session, None, None, call, contents=True, after=None, limit=None)
    )


def comparing(folder: Path) -> Ready:
    bench, then = changed(folder)
    return Ready(bench, lambda call: bench.workspace.diff(then, None, (), call))


def cleaning_up(folder: Path) -> Ready:
    bench, _ = changed(folder)
    return Ready(bench, lambda call: bench.workspace.cleanup(0, call))


def purging(folder: Path) -> Ready:
    bench, _ = changed(folder)
    bench.become({"kept": b""})
    bench.track()
    names = [name.encode() for name in flat(b"")]
    return Ready(bench, lambda call: bench.workspace.purge.purge(names, False, call))


def store_check(folder: Path) -> Ready:
    bench, _ = changed(folder)
    return Ready(bench, lambda call: bench.workspace.store_check.check(call, quick=False))


OPERATIONS = [
    tracking,
    tracking_deep_directories,
    restoring,
    foreseeing,
    reverting,
    deleting,
    making_directories,
    restoring_ignored_files,
    merging_an_undo,
    redoing,
    reverting_a_session,
    unreverting_a_session,
    showing_a_session,
    comparing,
    cleaning_up,
    purging,
    store_check,
]


@pytest.mark.parametrize("prepare", OPERATIONS)
def test_it_is_heard_in_every_phase(tmp_path: Path, prepare: Callable[[Path], Ready]) -> None:
    # the first time, it imports what it needs
    prepare(tmp_path / "first").act(Call())
    whole = prepare(tmp_path / "whole")
    total = calls_of(lambda: whole.act(Call()))
    ended = set()
    for point, how in zip(range(1, POINTS), itertools.cycle((Call.stop, Call.cancel)), strict=False):
        ready = prepare(tmp_path / str(point))
        before = ready.bench.read()
        call = Call()
        heard = False

        def act(ready: Ready = ready, call: Call = call, how: Callable[..., None] = how) -> None:
            nonlocal heard
            try:
                ready.act(call)
            except (Cancelled, Interrupted):
                ended.add(how)
            heard = not call.is_committed

        at = total * point // POINTS
        count = calls_of(act, at, call.cancel if how is Call.cancel else partial(call.stop, 0))
        # what cannot be cancelled any more is done to its end, unless the process ends
        if how is Call.stop or heard:
            assert count - at < REST * FILES, f"{how.__name__} at {point}/{POINTS} of {total}"
        # nothing is lost, and nothing is left half done
        ready.bench.reopen()
        ready.bench.track()
        assert ready.bench.read() in (before, *ready.ends)
        ready.bench.close()
    assert ended == {Call.cancel, Call.stop}


class Dies(Exception):
    """Stands for a kill."""


def cut_short(folder: Path) -> Bench:
    """A restore that died in the middle, with all that it had put aside; open again."""
    bench, then = changed(folder)
    moved = []

    def die(point: str) -> None:
        moved.append(point == "apply.move")
        if sum(moved) == FILES // 2:
            raise Dies

    failpoints.listener = die
    try:
        with pytest.raises(Dies):
            bench.restore(then)
    finally:
        failpoints.listener = None
    bench.reopen()
    return bench


def test_the_end_of_the_process_is_heard_while_a_dead_operation_is_ended(tmp_path: Path) -> None:
    whole = cut_short(tmp_path / "whole")
    total = calls_of(whole.track)
    for point in range(1, POINTS):
        bench = cut_short(tmp_path / str(point))
        call = Call()

        def act(bench: Bench = bench, call: Call = call) -> None:
            with contextlib.suppress(Cancelled, Interrupted):
                bench.take(call=call)

        at = total * point // POINTS
        assert calls_of(act, at, partial(call.stop, 0)) - at < REST * FILES
        bench.reopen()
        bench.track()
        assert bench.read() == flat(b"one")
        bench.close()


def test_a_cancel_of_another_request_does_not_keep_a_dead_operation_from_being_ended(tmp_path: Path) -> None:
    bench = cut_short(tmp_path)
    call = Call()
    failpoints.listener = lambda point: call.cancel() if point == "writer.settle" else None
    try:
        # the request itself is taken back, unless there is nothing left to do for it
        with contextlib.suppress(Cancelled):
            bench.take(call=call)
    finally:
        failpoints.listener = None
    assert bench.read() == flat(b"one")


def test_an_operation_that_is_nearly_done_is_done(tmp_path: Path) -> None:
    """The process that ends leaves it some time."""
    bench, then = changed(tmp_path)
    call = Call()
    failpoints.listener = lambda point: call.stop(60) if point == "writer.conclude" else None
    try:
        assert bench.restore(then, call=call).applied
    finally:
        failpoints.listener = None


def test_what_a_stopped_operation_had_put_aside_goes_at_once(tmp_path: Path) -> None:
    bench, then = changed(tmp_path)
    call = Call()
    moved = []

    def stop(point: str) -> None:
        moved.append(point == "apply.move")
        if sum(moved) == FILES // 2:
            call.stop(0)

    failpoints.listener = stop
    try:
        with pytest.raises(Interrupted):
            bench.restore(then, call=call)
    finally:
        failpoints.listener = None
    found = bench.read()
    assert sum(found[name] == item for name, item in flat(b"one").items()) == FILES // 2
    assert found.keys() == flat(b"").keys()
    # what the process does before it ends, such as to note that a client went, does not begin with it again
    with pytest.raises(Interrupted):
        bench.track()
    assert bench.read() == found
    bench.reopen()
    bench.track()
    assert bench.read() == flat(b"one")
