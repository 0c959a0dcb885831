"""A full check runs in a process of its own, which answers as this one would, and ends with whoever asked."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from snapd.model.call import Call
from snapd.model.check_report import AffectedFile, AffectedStep, CheckReport, Leftovers, Problem
from snapd.model.errors import Cancelled, IoError, StoreCorrupt
from snapd.store.fsck import checkers
from snapd.store.fsck.checkers import check, check_apart
from snapd.store.fsck.inventory import ObjectInventory
from snapd.store.fsck.walk import in_order
from snapd.store.objects.pack_index import PackIndex
from snapd.workers import processes
from snapd.workers.processes import ChildProcess
from tests.store.fsck import damage
from tests.store.fsck.damage import blob_id, loose
from tests.store.fsck.test_chains import add_session
from tests.store.gate import Gate
from tests.store.maintenance.test_worker import is_gone
from tests.store.steps import Steps


def files(number: int) -> dict[str, bytes]:
    return {"a": b"first\n" * 40, "d/e/c": b"step %d\n" % number * 30}


@pytest.fixture(autouse=True)
def jobs_run_here() -> None:
    """They do not."""


@pytest.fixture
def steps(steps: Steps) -> Steps:
    for number in range(4):
        steps.take(files(number))
    add_session(steps, "S", 2)
    return steps


HARM: dict[str, Callable[[Steps], object]] = {
    "nothing": lambda _: None,
    "a lost file": lambda steps: damage.drop(loose(steps.path, blob_id(files(2)["d/e/c"]))),
    "a damaged file": lambda steps: damage.flip(loose(steps.path, blob_id(files(1)["d/e/c"]))),
    "permissions": lambda steps: (steps.path / "HEAD").chmod(0o666),
}


@pytest.mark.parametrize("agrees", [True, False])
@pytest.mark.parametrize("harm", HARM)
def test_it_answers_as_this_process_would(steps: Steps, children: list[ChildProcess], harm: str, agrees: bool) -> None:
    # so that nothing is in the journal as well
    steps.store.repository.journal.checkpoint()
    HARM[harm](steps)
    here = check(str(steps.path), Call(), quick=False, agrees=lambda: agrees)
    assert check_apart(str(steps.path), Call(), lambda: agrees) == here
    assert [is_gone(child) for child in children] == [True]
    assert bool(here.problems) == (harm != "nothing" or not agrees)


def test_an_open_store_is_checked_apart(steps: Steps, children: list[ChildProcess]) -> None:
    said: list[tuple[str, int, int | None]] = []
    assert steps.store.check(Call(lambda *what: said.append(what)), quick=False, alone=False).problems == ()
    assert len(children) == 1
    assert steps.store.check(Call(), quick=True, alone=False).problems == ()
    assert len(children) == 1


def test_what_is_no_store_is_told(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("[core]\n\trepositoryformatversion = 0\n[snapd]\n\tversion = 99\n")
    with pytest.raises(StoreCorrupt, match="newer"):
        check_apart(str(tmp_path), Call(), lambda: True)


def test_a_cancel_ends_it(steps: Steps, gate: Gate, children: list[ChildProcess]) -> None:
    call = Call()
    raised: list[BaseException] = []

    def run() -> None:
        try:
            check_apart(str(steps.path), call, lambda: True)
        except Cancelled as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    waits = gate.wait()
    call.cancel()
    thread.join(30)
    os.close(waits)
    assert raised
    assert is_gone(children[0])


def test_its_death_is_told(steps: Steps, gate: Gate, children: list[ChildProcess]) -> None:
    raised: list[BaseException] = []

    def run() -> None:
        try:
            check_apart(str(steps.path), Call(), lambda: True)
        except IoError as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    waits = gate.wait()
    children[0].kill()
    thread.join(30)
    os.close(waits)
    assert "ended with -9" in str(raised[0])


def test_without_processes_it_checks_here(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkers, "can_start", lambda: False)
    monkeypatch.setattr(processes, "ChildProcess", None)
    assert check_apart(str(steps.path), Call(), lambda: True).problems == ()


def test_a_report_arrives_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(
        "damagedObject",
        "ab",
        "text \U0001f600",
        (AffectedFile(b"a\xff", (b"x" * 20,)),),
        (b"y" * 20,),
        (AffectedStep("s", None, "o"),),
    )
    report = CheckReport("/s", False, 1, 2, 3, 4, (problem,), (problem,), (b"z" * 20,), Leftovers(5, 6), True, None)
    line = processes.as_line({"result": attrs.asdict(checkers.Checked(report, False))})
    monkeypatch.setattr(checkers, "run_job", lambda *_, **__: json.loads(line)["result"])
    assert check_apart("/s", Call(), lambda: True) == report


def test_an_index_is_gone_through_once(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    steps.take({f"f{at}": b"%d\n" % at * 50 for at in range(400)})
    monkeypatch.setattr("snapd.store.fsck.walk.WINDOW_BYTES", 2000)
    rounds = []
    entries = PackIndex.entries
    monkeypatch.setattr(PackIndex, "entries", lambda index: rounds.append(index) or entries(index))
    with ObjectInventory(str(steps.path / "objects")) as holdings:
        (pack,) = holdings.packs.values()
        found = list(in_order(pack))
        assert rounds == [pack.index]
        assert found == sorted(entries(pack.index), key=lambda entry: entry[1])
        assert os.stat(f"{pack.path}.pack").st_size > 5 * 2000
