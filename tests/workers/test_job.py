"""A job in a process of its own: its result, its error and its progress arrive, and no process is left of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from snapd.model.call import Call
from snapd.model.errors import Cancelled, IoError, SnapdError, StorageFull, StoreCorrupt
from snapd.workers import processes
from snapd.workers.processes import WorkerEnded, run_job

ROOT = Path(__file__).parents[2]
WORK = """
import attrs, os, signal, sys, time
import snapd.model.errors as errors
from snapd.workers.processes import serve

@attrs.frozen
class Result:
    said: str
    oid: bytes
    nice: int

def work(question, report):
    print("goes to standard error")
    what = question["what"]
    if what == "raise":
        raise getattr(errors, question["error"])(question["said"], **question["data"])
    if what == "die":
        os.kill(os.getpid(), signal.SIGTERM)
    if what == "wait":
        report("waits", os.getpid(), None)
        time.sleep(600)
    report("half", 1, 2)
    return Result(question["said"], b"\\xff" * 20, os.nice(0))

def main(argument):
    serve(work)
"""
ODD = "/st\udcffore \u00e9\n"


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    places = tmp_path / "places"
    places.mkdir()
    (places / "some_work.py").write_text(WORK, encoding="ascii")
    monkeypatch.syspath_prepend(str(places))
    return "some_work"


def run(module: str, call: Call | None = None, *, in_background: bool = False, **question: Any) -> dict[str, Any]:
    wanted = call or Call()
    return run_job(
        module, question, in_background=in_background, check=wanted.check, report=wanted.progress if call else None
    )


@pytest.mark.parametrize("in_background", [False, True])
def test_the_result_and_the_progress_arrive(module: str, in_background: bool) -> None:
    said: list[tuple[str, int, int | None]] = []
    call = Call(lambda *what: said.append(what))
    nice = min(19, os.nice(0) + (10 if in_background else 0))
    assert run(module, call, in_background=in_background, what="", said=ODD) == {
        "said": ODD,
        "oid": "ff" * 20,
        "nice": nice,
    }
    assert said == [("half", 1, 2)]


@pytest.mark.parametrize(
    "error",
    [
        StoreCorrupt("gone", object="ab"),
        StorageFull("no space left: /x", path="/x", errno="ENOSPC"),
        IoError("/x: \udcff", path="/\udcff", errno="EIO"),
    ],
)
def test_errors_arrive_as_they_were(module: str, error: SnapdError) -> None:
    with pytest.raises(type(error)) as caught:
        run(module, what="raise", error=type(error).__name__, said=error.message, data=error.data)
    assert (caught.value.message, caught.value.data) == (error.message, error.data)


def test_the_exit_status_of_one_that_dies_is_known(module: str) -> None:
    with pytest.raises(WorkerEnded) as caught:
        run(module, what="die")
    assert caught.value.status == -signal.SIGTERM


def test_a_cancel_ends_it(module: str) -> None:
    pids: list[int] = []
    call = Call(lambda _, pid, __: (pids.append(pid), threading.Timer(0.1, call.cancel).start())[0])
    with pytest.raises(Cancelled):
        run(module, call, what="wait")
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


@pytest.mark.parametrize(
    "line",
    [b"", b"{}\n", b"[]\n", b"7\n", b'{"error": "cancelled", "message": "", "data": {}}\n', b"\xff\n", b'{"result": {'],
)
def test_what_is_no_answer_is_seen(line: bytes) -> None:
    with pytest.raises(processes.Garbled):
        processes.decode_answer(line)


IDLE = """
import sys
from snapd.workers.processes import ChildProcess
child = ChildProcess(sys.argv[1])
print(child.pid, flush=True)
child.wait()
"""

ASKS = """
import sys
from snapd.workers.processes import run_job
def tell(_, pid, __):
    print(pid, flush=True)
run_job(sys.argv[1], {"what": "wait"}, in_background=False, check=lambda: None, report=tell)
"""


@pytest.mark.parametrize(("script", "other"), [(IDLE, None), (ASKS, None), (IDLE, "snapd.differ.worker")])
def test_it_ends_with_the_process_that_asked(module: str, script: str, other: str | None) -> None:
    """Only the process has the other end of the standard error when its parent is gone."""
    with subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import sys; sys.path[:] = {json.dumps([str(ROOT), *sys.path])}\n{script}",
            other or module,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline()
        parent.kill()
        _, said = parent.communicate(timeout=60)
        assert said in (b"", b"goes to standard error\n")
