"""Turns: few at the same time, and who works long delays no other request."""

from __future__ import annotations

import asyncio

import pytest

from snapd.rpc.scheduling.turns import AT_ONCE, Turns

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
    turns.short_seconds = LONG
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


async def test_places_take_turns_however_much_one_of_them_asks_for() -> None:
    turns = Turns(LONG)
    begun: list[str] = []

    async def works(place: str) -> None:
        async with turns.turn(place):
            begun.append(place)
            await asyncio.sleep(0)

    tasks = [asyncio.ensure_future(works("busy")) for _ in range(WORKERS * 4)]
    await asyncio.sleep(0)
    tasks += [asyncio.ensure_future(works("other")) for _ in range(3)]
    await asyncio.gather(*tasks)
    # each of the others came as soon as it was their place's turn
    assert max(at for at, place in enumerate(begun) if place == "other") < AT_ONCE + 2 * 3 + AT_ONCE
    assert len(begun) == len(tasks)


async def test_one_who_gives_up_waiting_leaves_no_turn_behind() -> None:
    turns = Turns(LONG)
    begun: list[int] = []
    end = asyncio.Event()
    tasks = [asyncio.ensure_future(_works(turns, number, begun, end)) for number in range(WORKERS)]
    await _settled()
    for task in tasks[AT_ONCE:-1]:
        task.cancel()
    await _settled()
    end.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert begun == [*range(AT_ONCE), WORKERS - 1]
    assert turns.free == AT_ONCE
