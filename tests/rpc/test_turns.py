"""Turns: few at the same time, and who works long holds up nobody."""

from __future__ import annotations

import asyncio

import pytest

from snapd.rpc.turns import AT_ONCE, Turns

WORKERS = 3 * AT_ONCE
LONG = 3600.0


async def _works(turns: Turns, number: int, begun: list[int], end: asyncio.Event) -> None:
    async with turns.turn(None):
        begun.append(number)
        await end.wait()


async def _settled() -> None:
    """Whatever can go on has gone on."""
    for _ in range(10 * WORKERS):
        await asyncio.sleep(0)


async def test_few_work_at_once_in_the_order_in_which_they_came() -> None:
    turns = Turns(LONG)
    begun: list[int] = []
    ends = [asyncio.Event() for _ in range(WORKERS)]
    tasks = [asyncio.ensure_future(_works(turns, number, begun, end)) for number, end in enumerate(ends)]
    for done in range(WORKERS):
        await _settled()
        assert begun == list(range(min(WORKERS, done + AT_ONCE)))
        ends[done].set()
    await asyncio.gather(*tasks)


async def test_who_works_long_does_not_count() -> None:
    turns = Turns(0.0)
    begun: list[int] = []
    end = asyncio.Event()
    tasks = [asyncio.ensure_future(_works(turns, number, begun, end)) for number in range(WORKERS)]
    await _settled()
    assert begun == list(range(WORKERS))
    end.set()
    await asyncio.gather(*tasks)
    # each turn was given back once: there are as many as before, and no more
    turns._short_seconds = LONG
    begun.clear()
    end.clear()
    tasks = [asyncio.ensure_future(_works(turns, number, begun, end)) for number in range(WORKERS)]
    await _settled()
    assert begun == list(range(AT_ONCE))
    end.set()
    await asyncio.gather(*tasks)


async def test_a_turn_that_fails_is_given_back() -> None:
    turns = Turns(LONG)
    for _ in range(WORKERS):
        with pytest.raises(ValueError, match="broken"):
            async with turns.turn(None):
                raise ValueError("broken")
    begun: list[int] = []
    end = asyncio.Event()
    end.set()
    await _works(turns, 0, begun, end)
    assert begun == [0]
