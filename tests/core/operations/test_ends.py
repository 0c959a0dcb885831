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

import pytest

from snapd.model.call import Call
from snapd.model.errors import Cancelled, Interrupted
from snapd.store.journal import journal
from tests.core import large_operations as work
from tests.core.large_operations import Ready, changed, flat
from tests.support.amounts import amount
from tests.support.counting import calls_of
from tests.support.failures import at_failpoint, killed_at
from tests.support.workspace import Bench

pytestmark = pytest.mark.slow


FILES = amount(60, 150)
POINTS = amount(10, 24)
"""Into so many parts an operation is divided."""
CHOSEN = [1, 2, *range(3, POINTS, amount(2, 1))]
"""At the end of these it is cancelled, or the process ends; some can be cancelled in the first few alone."""
REST = 120
"""Calls for each file, at most, after that: those of 20,000 files take less than half a second."""

OPERATIONS = [
    work.tracking, work.tracking_deep_directories, work.restoring, work.foreseeing, work.reverting, work.deleting,
    work.making_directories, work.restoring_ignored_files, work.merging_an_undo, work.redoing,
    work.reverting_a_session, work.unreverting_a_session, work.showing_a_session, work.comparing, work.cleaning_up,
    work.purging, work.store_check,
]  # fmt: skip


@pytest.mark.parametrize("prepare", OPERATIONS)
def test_it_is_heard_in_every_phase(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prepare: Callable[[Path, int], Ready]
) -> None:
    if prepare is work.store_check:
        # it tells of each loose object, and is over before it tells of a pack as small as these
        monkeypatch.setattr(journal, "LOOSE_MOST", 10_000)
    # the first time, it imports what it needs
    prepare(tmp_path / "first", FILES)()
    total = calls_of(prepare(tmp_path / "whole", FILES))
    ended = set()
    # most of a check of a small store comes after the part that can be ended
    ends = [(1, Call.stop), *zip(CHOSEN, itertools.cycle((Call.cancel, Call.stop)), strict=False)]
    for place, (point, how) in enumerate(ends):
        ready = prepare(tmp_path / str(place), FILES)
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


def cut_short(folder: Path) -> Bench:
    """A restore that died in the middle, with all that it had put aside; open again."""
    bench, then = changed(folder, FILES)
    with killed_at("apply.move", FILES // 2):
        bench.restore(then)
    bench.reopen()
    return bench


def test_the_end_of_the_process_is_heard_while_a_dead_operation_is_ended(tmp_path: Path) -> None:
    whole = cut_short(tmp_path / "whole")
    total = calls_of(whole.track)
    for point in CHOSEN:
        bench = cut_short(tmp_path / str(point))
        call = Call()

        def act(bench: Bench = bench, call: Call = call) -> None:
            with contextlib.suppress(Cancelled, Interrupted):
                bench.take(call=call)

        at = total * point // POINTS
        assert calls_of(act, at, partial(call.stop, 0)) - at < REST * FILES
        bench.reopen()
        bench.track()
        assert bench.read() == flat(FILES, b"one")
        bench.close()


def test_a_cancel_of_another_request_does_not_keep_a_dead_operation_from_being_ended(tmp_path: Path) -> None:
    bench = cut_short(tmp_path)
    call = Call()
    # the request itself is taken back, unless there is nothing left to do for it
    with at_failpoint("writer.settle", call.cancel), contextlib.suppress(Cancelled):
        bench.take(call=call)
    assert bench.read() == flat(FILES, b"one")


def test_an_operation_that_is_nearly_done_is_done(tmp_path: Path) -> None:
    """The process that ends leaves it some time."""
    bench, then = changed(tmp_path, FILES)
    call = Call()
    with at_failpoint("writer.conclude", partial(call.stop, 60)):
        assert bench.restore(then, call=call).applied


def test_what_a_stopped_operation_had_put_aside_goes_at_once(tmp_path: Path) -> None:
    bench, then = changed(tmp_path, FILES)
    call = Call()
    with at_failpoint("apply.move", partial(call.stop, 0), FILES // 2), pytest.raises(Interrupted):
        bench.restore(then, call=call)
    found = bench.read()
    assert sum(found[name] == item for name, item in flat(FILES, b"one").items()) == FILES // 2
    assert found.keys() == flat(FILES, b"").keys()
    # what the process does before it ends, such as to note that a client went, does not begin with it again
    with pytest.raises(Interrupted):
        bench.track()
    assert bench.read() == found
    bench.reopen()
    bench.track()
    assert bench.read() == flat(FILES, b"one")
