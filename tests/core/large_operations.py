"""Operations on many files or steps, ready to be done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs

from snapd.core.actions.undo.steps import UndoRequest
from snapd.core.operations.runner import OperationOptions
from snapd.model.call import Call
from tests.support.sessions import Agents
from tests.support.workspace import Bench, Items, make

Act = Callable[[Call], Any]


def flat(count: int, text: bytes) -> Items:
    return {f"f{at}": b"%b %d\n" % (text, at) for at in range(count)}


@attrs.frozen
class Ready:
    """An operation that is about to be done; a call of it does it.

    Attributes:
        act: does it.
        ends: the states of the folder that it may leave once it is ended, besides that from before.
    """

    bench: Bench
    act: Act
    ends: tuple[Items, ...] = ()

    def __call__(self) -> Any:
        return self.act(Call())


def request(*, dry_run: bool = False) -> OperationOptions:
    return OperationOptions("merge", False, dry_run)


def tracking(folder: Path, count: int) -> Ready:
    bench = make(folder, flat(count, b"one"))
    return Ready(bench, lambda call: bench.take(call=call))


def tracking_deep_directories(folder: Path, count: int) -> Ready:
    bench = make(folder, {f"d{at}/e/f": b"%d" % at for at in range(count)})
    return Ready(bench, lambda call: bench.take(call=call))


def changed(folder: Path, count: int) -> tuple[Bench, bytes]:
    bench = make(folder, flat(count, b"one"))
    then = bench.track()
    bench.write(flat(count, b"two"))
    bench.track()
    return bench, then


def restoring(folder: Path, count: int) -> Ready:
    bench, then = changed(folder, count)
    return Ready(bench, lambda call: bench.restore(then, call=call), (flat(count, b"one"),))


def foreseeing(folder: Path, count: int) -> Ready:
    bench, then = changed(folder, count)
    names = [name.encode() for name in flat(count, b"")]
    return Ready(bench, lambda call: bench.workspace.snapshots.revert([(then, names)], request(dry_run=True), call))


def reverting(folder: Path, count: int) -> Ready:
    bench, then = changed(folder, count)
    names = [name.encode() for name in flat(count, b"")]
    return Ready(
        bench, lambda call: bench.workspace.snapshots.revert([(then, names)], request(), call), (flat(count, b"one"),)
    )


def deleting(folder: Path, count: int) -> Ready:
    bench = make(folder, {"kept": b""})
    then = bench.track()
    bench.write({f"d{at}/f": b"" for at in range(count)})
    bench.track()
    return Ready(bench, lambda call: bench.restore(then, call=call), ({"kept": b""},))


def making_directories(folder: Path, count: int) -> Ready:
    then: Items = {f"d{at}/": None for at in range(count)} | {"kept": b""}
    bench = make(folder, then)
    tree = bench.track()
    bench.become({"kept": b""})
    # another tree, since a hash says nothing of empty directories
    bench.write({"new": b""})
    bench.track()
    return Ready(bench, lambda call: bench.restore(tree, call=call), (then,))


def restoring_ignored_files(folder: Path, count: int) -> Ready:
    bench = make(folder, flat(count, b"one"))
    then = bench.track()
    bench.write({".gitignore": b"f*\n", **flat(count, b"two")})
    bench.track()
    return Ready(bench, lambda call: bench.restore(then, call=call), (flat(count, b"one"),))


def merging_an_undo(folder: Path, count: int) -> Ready:
    def texts(first: bytes, last: bytes) -> Items:
        return {f"f{at}": b"\n".join([first, *b"a b c d e f %d".split(), b"%d" % at, last]) for at in range(count)}

    bench = make(folder, texts(b"one", b"one"))
    agents = Agents(bench)
    session = agents.start()
    agents.step(session, texts(b"two", b"one"))
    bench.write(texts(b"two", b"user"))
    return Ready(
        bench,
        lambda call: bench.workspace.undo_steps.undo(UndoRequest(session), request(), call),
        (texts(b"one", b"user"),),
    )


def redoing(folder: Path, count: int) -> Ready:
    bench = make(folder, flat(count, b"one"))
    agents = Agents(bench)
    session = agents.start()
    agents.step(session, flat(count, b"two"))
    agents.undo(session)
    return Ready(
        bench, lambda call: bench.workspace.undo_steps.redo(session, 1, request(), call), (flat(count, b"two"),)
    )


def steps(folder: Path, count: int) -> tuple[Agents, str, Items, Items]:
    before: Items = {"kept": b""}
    agents = Agents(make(folder, before))
    session = agents.start()
    after = dict(before)
    for at in range(count // 4):
        after[f"f{at}"] = b"%d" % at
        agents.step(session, {f"f{at}": b"%d" % at}, message="m")
    return agents, session, before, after


def reverting_a_session(folder: Path, count: int) -> Ready:
    agents, session, before, _ = steps(folder, count)
    undo_steps = agents.bench.workspace.undo_steps
    return Ready(agents.bench, lambda call: undo_steps.revert(session, "m", None, request(), call), (before,))


def unreverting_a_session(folder: Path, count: int) -> Ready:
    agents, session, _, after = steps(folder, count)
    agents.revert(session, "m")
    undo_steps = agents.bench.workspace.undo_steps
    return Ready(agents.bench, lambda call: undo_steps.unrevert(session, request(), call), (after,))


def showing_a_session(folder: Path, count: int) -> Ready:
    agents, session, _, _ = steps(folder, count)
    session_diff = agents.bench.workspace.net_changes.page
    return Ready(
        agents.bench, lambda call: session_diff(session, None, None, call, contents=True, after=None, limit=None)
    )


def comparing(folder: Path, count: int) -> Ready:
    bench, then = changed(folder, count)
    return Ready(bench, lambda call: bench.workspace.comparison.diff(then, None, (), call))


def cleaning_up(folder: Path, count: int) -> Ready:
    bench, _ = changed(folder, count)
    return Ready(bench, lambda call: bench.workspace.upkeep.cleanup(0, call))


def purging(folder: Path, count: int) -> Ready:
    bench, _ = changed(folder, count)
    bench.become({"kept": b""})
    bench.track()
    names = [name.encode() for name in flat(count, b"")]
    return Ready(bench, lambda call: bench.workspace.upkeep.purge(names, False, call))


def store_check(folder: Path, count: int) -> Ready:
    bench, _ = changed(folder, count)
    return Ready(bench, lambda call: bench.workspace.upkeep.check(call, quick=False))
