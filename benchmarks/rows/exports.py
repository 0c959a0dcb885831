"""Snapshots as plain files in another folder, and the search that goes from one to the next there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from functools import partial
from typing import TYPE_CHECKING

from benchmarks.measure import Samples, agree, alternate, timed
from benchmarks.results import Row

from .cli import run_command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.bench import Bench, Pair

_STEPS = 10
_A_STEP = 100
"""Files that a step changes, at most."""


def export(bench: Bench) -> Iterator[Row]:
    """All files of a snapshot into an empty folder."""
    pair = bench.pair()
    tree = pair.track()
    folder = bench.scratch()
    ours, theirs = os.path.join(folder, "snapd"), os.path.join(folder, "git")

    def prepare(_: int) -> None:
        shutil.rmtree(ours, ignore_errors=True)
        shutil.rmtree(theirs, ignore_errors=True)

    def check(*_: object) -> None:
        subprocess.run(["diff", "-rq", "--no-dereference", ours, theirs], check=True)

    snapd, git = alternate(
        bench.counts.heavy,
        prepare,
        lambda: pair.client.export(tree, ours),
        lambda: pair.shadow.git("checkout-index", "-a", f"--prefix={theirs}/"),
        check,
        settle=True,
    )
    shutil.rmtree(folder)
    yield Row("export", "export into an empty folder", "git checkout-index --prefix", snapd, git)


def bisect(bench: Bench) -> Iterator[Row]:
    """The step that broke a command that takes no time, from the start of the search to its end: six runs at most."""
    pair = bench.pair()
    broke, session = _steps(bench, pair)
    words = ["bisect", "--json", session, "--", "sh", "-c", "test ! -e broken"]
    seconds = []
    for _ in range(bench.counts.heavy):
        taken, text = timed(partial(run_command, pair, words))
        answer = json.loads(text)
        agree([step["stepId"] for step in answer["suspects"][0]["steps"]], [broke])
        agree(len(answer["trials"]) <= 6, True)
        seconds.append(taken)
    os.unlink(os.path.join(pair.tree, "broken"))
    yield Row("bisect", f"snapd bisect, {_STEPS} steps", "", Samples("s", tuple(seconds)))


def _steps(bench: Bench, pair: Pair) -> tuple[str, str]:
    """Makes steps of many files each, one of which breaks something; gives the names of that one and the session."""
    request = pair.client.request
    session = request("session/start", {"agent": "bench"})["sessionId"]
    broke = ""
    for number in range(_STEPS):
        step = request("step/begin", {"sessionId": session})["stepId"]
        pair.editor.edit(bench.at_most(_A_STEP, pair.files))
        if number == _STEPS // 2:
            broke = step
            with open(os.path.join(pair.tree, "broken"), "wb"):
                pass
        request("step/end", {"stepId": step})
    request("session/end", {"sessionId": session})
    return broke, session
