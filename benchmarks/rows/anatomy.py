"""What a client waits for in a track that finds nothing new, part by part, and in a step."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from snapd_client import to_uri

from benchmarks.daemon import track
from benchmarks.measure import Samples, WrongResult, timed
from benchmarks.results import Row
from snapd.hook.link import DaemonConnection

from .fairness import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.bench import Bench, Pair

_TIMES = 10
"""How many times as often as others these are measured, one after the other: each takes less than a millisecond."""


def anatomy(bench: Bench) -> Iterator[Row]:
    """The same way of a message with more and more at the end of it, over the plain socket that hooks use."""
    pair = bench.pair()
    last = pair.track()
    plain = DaemonConnection(pair.daemon.socket)
    folder = {"uri": to_uri(pair.tree), "name": "tree"}
    plain.ask(("initialize", {"processId": None, "capabilities": {}, "workspaceFolders": [folder]}))
    parts: dict[str, tuple[str, Callable[[], object]]] = {
        "refused": ("a request that is refused at once", partial(plain.ask, (UNKNOWN, {}))),
        "diff": ("a look at the tree, nothing recorded", partial(plain.ask, ("snapshot/diff", {"hash": last}))),
        "track": ("no-op track, one after the other", partial(plain.ask, ("snapshot/track", {}))),
        "client": ("no-op track by the Python client, which reads in a thread", partial(track, pair.client)),
    }
    try:
        for key, (name, ask) in parts.items():
            ask()
            seconds = [timed(ask)[0] for _ in range(_TIMES * bench.counts.repetitions)]
            yield Row(f"anatomy-{key}", name, "", Samples("s", tuple(seconds)))
        if plain.ask(("snapshot/track", {}))[0]["hash"] != last:
            raise WrongResult("a track of an unchanged tree has another hash")
    finally:
        plain.close()


def step(bench: Bench) -> Iterator[Row]:
    """The beginning and the end of a step that changes one file."""
    pair = bench.pair()
    pair.track()
    pair.client.request("session/start", {"sessionId": "pairs", "agent": "bench"})
    seconds = [_one_step(pair) for _ in range(bench.counts.repetitions + 1)]
    pair.client.request("session/end", {"sessionId": "pairs"})
    # the first is also the first of its session
    yield Row("step-pair", "step/begin + step/end, one changed file", "", Samples("s", tuple(seconds[1:])))


def _one_step(pair: Pair) -> float:
    request = pair.client.request
    began, opened = timed(lambda: request("step/begin", {"sessionId": "pairs"}))
    pair.editor.edit()
    ended, _ = timed(lambda: request("step/end", {"stepId": opened["stepId"]}))
    return began + ended
