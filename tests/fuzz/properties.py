"""What holds for all input, and hypothesis to look for what it does not hold for."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from snapd.wire.methods import METHODS
from tests.fuzz import framing
from tests.fuzz.strategies import CORPUS, JSON, PATHS, TOLD, cuts, mutated, params_of, sessions

if TYPE_CHECKING:
    from tests.fuzz.target import Target

PLACES = st.lists(st.floats(0, 1), max_size=12)


def how(examples: int, *, random: bool) -> settings:
    """Settings of a run: the same examples each time, or others."""
    return settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=not random,
        suppress_health_check=list(HealthCheck),
    )


def check_framing(examples: int, *, random: bool) -> int:
    """Bytes split anywhere, those of mutated sessions among them, are read as the model reads them.

    Returns:
        How many frames were read.
    """
    loop = asyncio.new_event_loop()
    frames = 0

    @how(examples, random=random)
    @given(sessions({"hash": ["0" * 40], "workspaceUri": ["file:///w"]}) | mutated(st.binary(max_size=200)), PLACES)
    def holds(data: bytes, places: list[float]) -> None:
        nonlocal frames
        frames += framing.check(loop, data, cuts(data, places))

    try:
        holds()
    finally:
        loop.close()
    return frames


def check_streams(target: Target, examples: int, *, random: bool) -> None:
    """Whole sessions and mutated ones: each request is answered once, under its id, and nothing else is said."""

    @how(examples, random=random)
    @given(sessions(target.pool), PLACES)
    def holds(data: bytes, places: list[float]) -> None:
        target.stream(data, cuts(data, places))

    holds()


def check_params(target: Target, method: str, examples: int, *, random: bool) -> None:
    """Params of a method, right and wrong: one answer, of the errors that the method is said to have."""

    @how(examples, random=random)
    @given(params_of(METHODS[method].params, target.pool) | JSON)
    def holds(params: Any) -> None:
        target.ask(method, params)

    holds()


def check_notifications(target: Target, examples: int, *, random: bool) -> None:
    """What editors tell, right and wrong: nothing of it is answered, and the next request is."""
    uri = PATHS.map(lambda path: f"{target.folder.as_uri()}/{path}") | st.just(target.folder.as_uri()) | JSON
    text = st.sampled_from(["one\n", "", "x" * 3000]) | JSON
    document = st.fixed_dictionaries({}, optional={"uri": uri, "version": JSON, "text": text, "languageId": JSON})
    folder = st.fixed_dictionaries({"uri": uri, "name": JSON})
    params = st.fixed_dictionaries(
        {},
        optional={
            "textDocument": document | JSON,
            "contentChanges": st.lists(st.fixed_dictionaries({"text": text}) | JSON, max_size=2),
            "event": st.fixed_dictionaries(
                {"added": st.lists(folder | JSON, max_size=1), "removed": st.lists(folder | JSON, max_size=1)}
            ),
            "settings": st.dictionaries(st.sampled_from(["exclude", "retention", "watcher", "x"]), JSON, max_size=2),
            "id": JSON,
            "value": JSON,
        },
    )

    @how(examples, random=random)
    @given(st.sampled_from(TOLD), params | JSON)
    def holds(method: str, said: Any) -> None:
        target.tell(method, said)

    holds()


def check_corpus(target: Target) -> int:
    """All that is kept, by the model and by the daemon.

    Returns:
        How many files there were.
    """
    loop = asyncio.new_event_loop()
    kept = sorted(CORPUS.iterdir())
    try:
        for path in kept:
            data = path.read_bytes()
            for pieces in ([data], [data[at : at + 1] for at in range(len(data))], cuts(data, [0.3, 0.31, 0.9])):
                framing.check(loop, data, pieces)
            target.stream(data, [data])
    finally:
        loop.close()
    return len(kept)
