"""Hooks of an agent, each a process of its own, with a daemon that has the tree open."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING

from benchmarks.daemon import environment
from benchmarks.measure import Samples, WrongResult, timed
from benchmarks.results import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.bench import Bench, Pair


def hooks(bench: Bench) -> Iterator[Row]:
    """What an agent waits for: the hook before a call that edits one file, and the one after it."""
    pair = bench.pair()
    pair.track()
    _report(pair, "UserPromptSubmit", "", prompt="work")
    before, after = [], []
    for number in range(bench.counts.repetitions + 1):
        call = f"call-{number}"
        before.append(timed(partial(_report, pair, "PreToolUse", call))[0])
        pair.editor.edit()
        after.append(timed(partial(_report, pair, "PostToolUse", call))[0])
    steps = pair.client.request("session/steps", {"sessionId": "bench"})["steps"]
    if [len(step.get("files") or ()) for step in steps] != [1] * len(before):
        raise WrongResult("a hook was passed over: see run/hook.log")
    # the first pair begins the session
    pairs = [sum(both) for both in zip(before, after, strict=True)][1:]
    yield Row("hook-pair", "the two hooks of one call, one file changed", "", Samples("s", tuple(pairs)))
    yield Row("hook-before", "the hook before a call", "", Samples("s", tuple(before[1:])))
    yield Row("hook-after", "the hook after it", "", Samples("s", tuple(after[1:])))


def _report(pair: Pair, name: str, call: str, **fields: str) -> None:
    event = {
        "hook_event_name": name,
        "session_id": "bench",
        "prompt_id": "prompt",
        "cwd": pair.tree,
        "tool_name": "Bash",
        "tool_input": {"command": "make"},
        "tool_use_id": call,
        **fields,
    }
    done = subprocess.run(
        [os.path.join(os.path.dirname(sys.executable), "snapd"), "hook"],
        cwd=pair.tree,
        env=environment(pair.daemon.directory),
        input=json.dumps(event).encode(),
        capture_output=True,
        check=False,
    )
    # standard output may tell the agent of changes by the sessions of other rows
    if (done.returncode, done.stderr) != (0, b""):
        raise WrongResult(f"snapd hook ended with {done.returncode}: {done.stdout!r} {done.stderr!r}")
