"""The process that compares texts: right as git is, shared, taken back with its request, replaced when it dies."""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
from pathlib import Path

import pytest

from snapd.core.compare.text import DirectDiffer, hunks, line_changes
from snapd.differ.differ import Limits, ProcessDiffer
from snapd.model.call import Call
from snapd.model.errors import Cancelled, IoError
from snapd.workers import processes
from tests.core.compare.test_diffs import PAIRS, agrees_with_git, both, edited, random_text
from tests.rpc.machine import wait_until
from tests.support.workspace import Items, make

OLD, NEW = b"a\nb\nc\n", b"a\nx\nc\ny\n"


def slow_pair() -> tuple[bytes, bytes]:
    """Two texts of 2 MB whose comparison takes seconds: lines drawn from few, in no common order."""
    dice = random.Random(5)
    lines = [b"%c\n" % (97 + at) for at in range(26)]
    return tuple(b"".join(dice.choices(lines, k=1_000_000)) for _ in range(2))  # type: ignore[return-value]


def count(differ: ProcessDiffer, old: bytes, new: bytes, call: Call | None = None) -> tuple[int, int]:
    return differ.line_changes(old, new, call or Call())


def is_there(pid: int) -> bool:
    """Whether a process lives or is still to be waited for."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def pid_of(differ: ProcessDiffer) -> int:
    assert differ.pid is not None
    return differ.pid


@pytest.mark.parametrize(("before", "after"), PAIRS.values(), ids=PAIRS.keys())
def test_a_difference_is_gits(tmp_path: Path, shared_differ: ProcessDiffer, before: Items, after: Items) -> None:
    bench = make(tmp_path)
    bench.workspace.comparison.texts = shared_differ
    old, new = both(bench, before, after)
    agrees_with_git(bench, old, new)
    agrees_with_git(bench, new, old)


def test_random_edits(tmp_path: Path, differ: ProcessDiffer) -> None:
    dice = random.Random(1)
    before, after = {}, {}
    for at in range(60):
        lines = [b"%d" % dice.randrange(9) for _ in range(dice.choice((0, 3, 30, 120)))]
        before[f"d{at % 7}/{at}"] = random_text(dice, lines)
        after[f"d{at % 7}/{at}"] = random_text(dice, edited(dice, lines))
    bench = make(tmp_path)
    bench.workspace.comparison.texts = differ
    agrees_with_git(bench, *both(bench, before, after))


def test_small_texts_stay_here_and_large_ones_do_not() -> None:
    differ = ProcessDiffer(Limits(large_bytes=1000, large_lines=100))
    try:
        assert count(differ, OLD, NEW) == (2, 1)
        assert differ.hunks(OLD, NEW, Call()) == hunks(OLD, NEW)
        # nothing has to be compared
        assert count(differ, b"", b"x\n" * 4000) == (4000, 0)
        long_text = b"x\n" * 10_000
        assert count(differ, long_text, long_text) == (0, 0)
        assert count(differ, long_text, long_text + b"y\n" * 9 + long_text) == (10_009, 0)
        assert count(differ, long_text + b"z\n" + long_text, long_text + b"y\n" * 9 + long_text) == (9, 1)
        assert differ.pid is None
        many = b"1\n" * 50 + OLD, b"2\n" * 50 + NEW
        assert count(differ, *many) == line_changes(*many)
        by_lines = pid_of(differ)
        long = b"x" * 500 + b"\n" + OLD, b"y" * 500 + b"\n" + NEW
        assert differ.hunks(*long, Call()) == hunks(*long)
        assert differ.pid == by_lines
    finally:
        differ.close()
    other = ProcessDiffer(Limits(large_bytes=1000, large_lines=100))
    count(other, *long)
    assert other.pid is not None
    other.close()


def test_a_cancel_ends_the_comparison(differ: ProcessDiffer) -> None:
    count(differ, OLD, NEW)
    pid = pid_of(differ)
    call = Call()
    old, new = slow_pair()
    caught: list[BaseException] = []

    def compare() -> None:
        try:
            count(differ, old, new, call)
        except Cancelled as error:
            caught.append(error)

    thread = threading.Thread(target=compare)
    thread.start()
    wait_until(differ.turn.locked, "the comparison")
    call.cancel()
    thread.join()
    assert len(caught) == 1
    assert not is_there(pid)
    assert count(differ, OLD, NEW) == (2, 1)


def test_who_waits_for_the_process_can_be_cancelled() -> None:
    differ = ProcessDiffer(Limits(large_bytes=1000))
    try:
        count(differ, OLD * 200, NEW * 200)
        pid = differ.pid
        call = Call()
        call.cancel()
        with differ.turn:
            with pytest.raises(Cancelled):
                count(differ, OLD * 200, NEW * 200, call)
            # what is small waits for nobody
            assert count(differ, OLD, NEW) == (2, 1)
        assert differ.pid == pid
    finally:
        differ.close()


@pytest.mark.parametrize("when", ["idle", "asked"])
def test_a_process_that_is_killed_is_replaced(differ: ProcessDiffer, when: str) -> None:
    count(differ, OLD, NEW)
    pid = pid_of(differ)
    os.kill(pid, signal.SIGSTOP if when == "asked" else signal.SIGKILL)
    killer = threading.Timer(0, lambda: wait_until(differ.turn.locked, "a question") and os.kill(pid, signal.SIGKILL))
    if when == "asked":
        killer.start()
    assert count(differ, OLD, NEW) == (2, 1)
    assert pid_of(differ) != pid
    assert not is_there(pid)
    if when == "asked":
        killer.join()


def test_processes_that_keep_dying_are_an_error(differ: ProcessDiffer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        processes,
        "BOOT",
        "from os import read, write; write(1, bytes(4)); read(0, 1)",
    )
    with pytest.raises(IoError, match="has ended"):
        count(differ, OLD, NEW)
    monkeypatch.undo()
    assert count(differ, OLD, NEW) == (2, 1)


@pytest.mark.parametrize("boot", ["import sys; sys.exit(3)", "print('hello')", "import not_there"])
def test_without_a_process_texts_are_compared_here(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, boot: str
) -> None:
    monkeypatch.setattr(processes, "BOOT", boot)
    differ = ProcessDiffer(Limits(large_bytes=0))
    assert count(differ, OLD, NEW) == (2, 1)
    assert count(differ, OLD, NEW) == (2, 1)
    assert len([record for record in caplog.records if "compared here instead" in record.getMessage()]) == 1
    assert differ.pid is None
    differ.close()


def test_where_none_can_be_started(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    differ = ProcessDiffer(Limits(large_bytes=0))
    assert count(differ, OLD, NEW) == (2, 1)
    assert "compared here instead" in caplog.text
    differ.close()
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    frozen = ProcessDiffer(Limits(large_bytes=0))
    assert count(frozen, OLD, NEW) == (2, 1)
    assert "no process can be started here" in caplog.text
    frozen.close()


def test_it_ends_when_idle_and_when_closed() -> None:
    differ = ProcessDiffer(Limits(large_bytes=0, idle_seconds=0.01))
    count(differ, OLD, NEW)
    wait_until(lambda: differ.pid is None, "the end of an idle process")
    assert count(differ, OLD, NEW) == (2, 1)
    differ.close()
    assert differ.pid is None
    assert count(differ, OLD, NEW) == (2, 1)
    assert differ.pid is None
    lasting = ProcessDiffer(Limits(large_bytes=0))
    count(lasting, OLD, NEW)
    pid = pid_of(lasting)
    lasting.close()
    assert not is_there(pid)


def test_many_threads_share_it(differ: ProcessDiffer) -> None:
    wrong: list[object] = []

    def ask() -> None:
        for at in range(1, 30):
            old, new = OLD * at, NEW * at
            found = count(differ, old, new), differ.hunks(old, new, Call())
            if found != (line_changes(old, new), hunks(old, new)):
                wrong.append(found)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_direct_one_agrees() -> None:
    direct = DirectDiffer()
    assert direct.line_changes(OLD, NEW, Call()) == (2, 1)
    assert direct.hunks(OLD, NEW, Call()) == hunks(OLD, NEW)
    call = Call()
    call.cancel()
    with pytest.raises(Cancelled):
        direct.line_changes(OLD, NEW, call)
    with pytest.raises(Cancelled):
        direct.hunks(OLD, NEW, call)
