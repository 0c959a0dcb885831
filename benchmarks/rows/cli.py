"""Commands of the command line, each a process of its own, with a daemon that has the tree open."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING

from benchmarks.daemon import environment
from benchmarks.measure import Samples, WrongResult, agree, timed
from benchmarks.results import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.bench import Bench, Pair

_STEPS = 20


def cli(bench: Bench) -> Iterator[Row]:
    """From the start of a command to its end, in a folder with the steps of an agent."""
    pair = bench.pair()
    pair.track()
    step = _steps(pair)
    commands = {
        "log": ["log"],
        "undo": ["undo", step, "-n"],
        "show": ["show", step],
        "status": ["status"],
        "version": ["--version"],
    }
    for key, words in commands.items():
        run_command(pair, words)
        seconds = [timed(partial(run_command, pair, words))[0] for _ in range(bench.counts.repetitions)]
        shown = " ".join("STEP" if word == step else word for word in words)
        yield Row(f"cli-{key}", f"snapd {shown}", "", Samples("s", tuple(seconds)))
    seconds = []
    for _ in range(bench.counts.repetitions):
        pair.editor.edit()
        taken, text = timed(partial(run_command, pair, ["track"]))
        agree(text.strip(), pair.shadow.track())
        seconds.append(taken)
    yield Row("cli-track", "snapd track, one file changed", "", Samples("s", tuple(seconds)))


def _steps(pair: Pair) -> str:
    """Makes some steps of one file each; gives the name of the last."""
    request = pair.client.request
    session = request("session/start", {"agent": "bench"})["sessionId"]
    step = ""
    for _ in range(_STEPS):
        step = request("step/begin", {"sessionId": session, "tool": "Edit"})["stepId"]
        pair.editor.edit()
        request("step/end", {"stepId": step})
    request("session/end", {"sessionId": session})
    return step


def run_command(pair: Pair, words: list[str]) -> str:
    """What a command prints, which has to succeed."""
    name, *rest = words
    # in front of the rest, which may be a command of its own
    socket = [] if words == ["--version"] else ["--socket", pair.daemon.socket]
    done = subprocess.run(
        [sys.executable, "-m", "snapd", name, *socket, *rest],
        cwd=pair.tree,
        env=environment(pair.daemon.directory),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise WrongResult(f"snapd {' '.join(words)} ended with {done.returncode}: {done.stderr}")
    return done.stdout
