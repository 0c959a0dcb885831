"""The list of snapshots, against a plain list of what was done and when."""

from __future__ import annotations

import random
from types import SimpleNamespace

import attrs
import pytest

from snapd.core.answers import TakenView
from snapd.core.operations import writer
from snapd.model.call import Call
from snapd.model.snapshot import ObjectId
from snapd.model.snapshot_records import SnapshotRecordQuery
from snapd.store import store
from tests.support.amounts import amount
from tests.support.failures import at_failpoint
from tests.support.sessions import Agents

CASES = amount(15, 200)


class Clock:
    """The time of events, which a test sets.

    Attributes:
        now: seconds since 1970.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1_800_000_000
        times = {name: getattr(writer.time, name) for name in ("monotonic", "time")}
        for module in (store, writer):
            monkeypatch.setattr(module, "time", SimpleNamespace(**times, time_ns=lambda: self.now * 10**9))


@attrs.frozen
class Told:
    """A snapshot as the test knows it."""

    tree: ObjectId
    seconds: int
    kind: str
    step: str | None = None
    session: str | None = None


def told(view: TakenView) -> Told:
    taken = view.taken
    kind = taken.kind if view.operation is None else f"{taken.kind} {view.operation}"
    return Told(taken.tree, taken.milliseconds // 1000, kind, taken.step_id, taken.session_id)


def listed(agents: Agents, wanted: SnapshotRecordQuery | None = None, size: int = 100) -> list[TakenView]:
    """All pages."""
    found: list[TakenView] = []
    below: int | None = None
    while True:
        page = agents.bench.workspace.snapshots.taken(wanted or SnapshotRecordQuery(), below, size, Call(), counts=True)
        assert page.views or below is None
        found += page.views
        below = page.after
        if below is None:
            return found
        assert len(page.views) == size


def work(agents: Agents, clock: Clock, source: random.Random) -> list[Told]:
    """Does things, each in a state that no other was in, and gives the snapshots, oldest first."""
    bench, model, steps = agents.bench, [], []
    agents.start("s")
    for number in range(source.randrange(1, 9)):
        clock.now += source.choice((2, 60, 90_000, -300))
        bench.write({"a.txt": b"%d\n" % number})
        what = source.choice(("track", "step", "step", "undo", "restore"))
        if what == "track":
            model.append(Told(bench.track(), clock.now, "track"))
        elif what == "step":
            step = agents.begin("s")
            model.append(Told(bench.workspace.snapshots.status().last or b"", clock.now, "begin", step, "s"))
            clock.now += 30
            bench.write({f"of {step}": b"%d\n" % number})
            agents.end(step)
            steps.append(step)
            model.append(Told(bench.workspace.snapshots.status().last or b"", clock.now, "end", step, "s"))
        elif what == "undo" and steps and f"of {steps[-1]}" in bench.read():
            done, _ = agents.undone("s", step=steps.pop())
            model.append(Told(done.before, clock.now, "before undo"))
            model.append(Told(done.after, clock.now, "after undo", None, "s"))
        elif model:
            done = bench.restore(source.choice(model).tree)
            model.append(Told(done.before, clock.now, "before restore"))
            model.append(Told(done.after, clock.now, "after restore"))
    return model


@pytest.mark.parametrize("seed", range(CASES))
def test_it_is_what_was_done(agents: Agents, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    clock, source = Clock(monkeypatch), random.Random(seed)
    model = work(agents, clock, source)[::-1]
    assert [told(view) for view in listed(agents)] == model
    assert [told(view) for view in listed(agents, size=1)] == model
    # also once the log is read from the disk
    agents.bench.reopen()
    assert [told(view) for view in listed(agents, size=3)] == model
    for one in model:
        for until in (one.seconds - 1, one.seconds):
            wanted = [other for other in model if other.seconds <= until]
            assert [told(view) for view in listed(agents, SnapshotRecordQuery(until=until), 2)] == wanted
        prefix = one.tree.hex()[: source.randrange(6, 41)]
        newest = {other.tree: other for other in reversed(model)}
        same = [other for other in model if newest[other.tree] is other and other.tree.hex().startswith(prefix)]
        assert [told(view) for view in listed(agents, SnapshotRecordQuery(prefix), 1)] == same


def test_operations_of_one_second(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    Clock(monkeypatch)
    bench = agents.bench
    first = bench.track()
    agents.start("s")
    step = agents.step("s", {"new": b"new\n", "a.txt": b"other\n"})
    bench.write({"mine": b"mine\n"})
    agents.undone("s", step=step)
    bench.restore(first)
    kinds = [told(view).kind for view in listed(agents)]
    assert kinds[:4] == ["after restore", "before restore", "after undo", "before undo"]


def test_each_reason_has_a_row_of_its_own(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it in one second, on a folder that does not change."""
    Clock(monkeypatch)
    bench = agents.bench
    for _ in range(2):
        bench.track()
    agents.start("s")
    bench.workspace.messages.send("s", "m", "do it", Call())
    first = agents.begin("s")
    second = agents.begin("s", ends=first)
    bench.track()
    agents.end(second)
    rows = [(view.taken.kind, view.taken.step_id, view.taken.message_id) for view in listed(agents)]
    assert rows[::-1] == [
        ("track", None, None),
        ("track", None, None),
        ("message", None, "m"),
        ("begin", first, None),
        ("end", first, None),
        ("begin", second, None),
        ("track", None, None),
        ("end", second, None),
    ]
    assert {view.changed for view in listed(agents)} == {None, 0}
    assert {view.taken.session_id for view in listed(agents)} == {None, "s"}


def test_an_operation_that_kept_what_somebody_wrote_meanwhile(agents: Agents) -> None:
    bench = agents.bench
    agents.start("s")
    step = agents.step("s", {"new": b"new\n"})
    with at_failpoint("writer.conclude", lambda: bench.write({"mine": b"mine\n"})):
        agents.undone("s", step=step)
    newest = listed(agents)[0]
    assert (newest.taken.kind, newest.operation) == ("after", "undo")
    assert (newest.taken.session_id, newest.agent) == ("s", "agent")


def test_the_files_are_those_that_differ_from_the_snapshot_before(agents: Agents) -> None:
    bench = agents.bench
    bench.track()
    bench.write({"c/d.txt": b"d\n", "c/e.txt": b"e\n", "a.txt": b"other\n"})
    bench.track()
    bench.remove("b.txt")
    bench.track()
    views = listed(agents)
    assert [view.changed for view in views] == [1, 3, None]
    # a page of its own knows what was before it, too
    assert [view.changed for view in listed(agents, size=1)] == [1, 3, None]
    page = bench.workspace.snapshots.taken(SnapshotRecordQuery(), None, 2, Call(), counts=False)
    assert [view.changed for view in page.views] == [None, None]


def test_a_page_costs_what_is_on_it(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = agents.bench
    for number in range(30):
        bench.write({"a.txt": b"%d\n" % number})
        bench.track()
    store = bench.workspace.store
    read: list[object] = []
    plain = store.differing
    monkeypatch.setattr(store, "differing", lambda old, new: read.append(old) or plain(old, new))
    monkeypatch.setattr(store.repository, "read_commit", lambda _: pytest.fail("the log is in memory"))
    assert len(bench.workspace.snapshots.taken(SnapshotRecordQuery(), 20, 4, Call(), counts=True).views) == 4
    assert len(read) == 4
