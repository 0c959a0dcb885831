"""The queue of a workspace, against a model that knows the promises and nothing of how they are kept."""

from __future__ import annotations

import asyncio
import gc
import random

import attrs
import pytest

from snapd.model.errors import IoError
from snapd.rpc.scheduling.workspace_queue import READS_AT_ONCE, TURNS_AT_ONCE, Access, Ticket, WorkspaceQueue

CHANGES = (Access.WRITE, Access.SETTING)
CLIENTS = 4


@attrs.define(eq=False)
class Sent:
    """A request, and how far it is."""

    client: int
    access: Access
    ticket: Ticket
    task: asyncio.Task[None] | None = None
    admitted: bool = False
    writing: bool = False
    had_turn: bool = False
    over: bool = False

    async def run(self, sent: list[Sent], ends: asyncio.Event, leaves_early: bool) -> None:
        try:
            await self.ticket.admitted()
            check_admission(self, sent)
            self.admitted = True
            await self.ticket.turn()
            if self.access in (Access.WRITE, Access.LOOK):
                check_turn(self, sent)
                self.writing = True
                if leaves_early:
                    await asyncio.sleep(0)
                    self.writing, self.had_turn = False, True
                    self.ticket.release_turn_later()
            await ends.wait()
        finally:
            self.writing, self.had_turn, self.over = False, True, True
            self.ticket.leave()


def check_admission(one: Sent, sent: list[Sent]) -> None:
    """Nothing begins before what its client sent earlier is done, as far as it matters."""
    mine = [other for other in sent[: sent.index(one)] if other.client == one.client and not other.over]
    if one.access in CHANGES:
        assert not mine
    elif one.access is Access.DOCUMENT:
        assert not [other for other in mine if other.access is Access.WRITE and not other.had_turn]
        assert not [other for other in mine if other.access in (Access.SETTING, Access.DOCUMENT)]
    else:
        assert not [other for other in mine if other.access in CHANGES]
        reads = [each for each in sent if each.client == one.client and each.access in (Access.READ, Access.LOOK)]
        assert sum(each.admitted and not each.over for each in reads) < READS_AT_ONCE
    # nor does it overtake what its client sends later
    later = [other for other in sent[sent.index(one) + 1 :] if other.client == one.client and other.admitted]
    if one.access in CHANGES:
        assert not later
    elif one.access in (Access.READ, Access.LOOK):
        assert not [other for other in later if other.access in CHANGES]


def check_turn(one: Sent, sent: list[Sent]) -> None:
    """Few at a time have the right to write, of one client one, and after what editors said before."""
    writing = [other for other in sent if other.writing]
    assert len(writing) < TURNS_AT_ONCE
    if one.access is Access.WRITE:
        assert one.client not in [other.client for other in writing]
    said = [other for other in sent[: sent.index(one)] if other.access is Access.DOCUMENT and not other.over]
    assert not [other for other in said if other.admitted]
    # where an editor's word waits itself, nobody who was sent after it is let in as the next one
    for document in said:
        assert not [other for other in writing if sent.index(other) > sent.index(document)]


@pytest.mark.parametrize("seed", range(60))
async def test_random_histories(seed: int) -> None:
    chance = random.Random(seed)
    queue = WorkspaceQueue()
    sent: list[Sent] = []
    ends: dict[Sent, asyncio.Event] = {}

    def send() -> None:
        client, access = chance.randrange(CLIENTS), chance.choice(list(Access))
        one = Sent(client, access, Ticket(client, access, lambda: None))
        sent.append(one)
        ends[one] = asyncio.Event()
        queue.add(one.ticket)
        one.task = asyncio.ensure_future(one.run(sent, ends[one], chance.random() < 0.3))

    for _ in range(300):
        action = chance.random()
        going = [one for one in sent if not one.over]
        if action < 0.5:
            send()
        elif action < 0.85 and going:
            ends[chance.choice(going)].set()
        elif going:
            taken_back = chance.choice(going)
            assert taken_back.task is not None
            taken_back.task.cancel()
            if not taken_back.task.done() and not taken_back.admitted:
                # it may never begin
                taken_back.over = True
                taken_back.ticket.leave()
        for _ in range(chance.randrange(4)):
            await asyncio.sleep(0)
    for event in ends.values():
        event.set()
    tasks = [one.task for one in sent if one.task is not None]
    results = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 30)
    # everything ends, and no promise was broken
    assert [result for result in results if isinstance(result, Exception)] == []
    assert not queue.lanes
    assert not queue.writing
    assert not queue.documents


async def test_a_ticket_that_fails_may_have_nobody_who_waits_for_it() -> None:
    """A file outside all folders is reported to any of them, and waits for none."""
    logged: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: logged.append(context))
    ticket = Ticket(1, Access.DOCUMENT, lambda: None)
    ticket.fail(IoError("the folder is gone", errno="ENOENT"))
    ticket.leave()
    del ticket
    gc.collect()
    assert logged == []
    waited_for = Ticket(1, Access.READ, lambda: None)
    waited_for.fail(IoError("the folder is gone", errno="ENOENT"))
    with pytest.raises(IoError):
        await waited_for.admitted()


async def test_first_come_first_served_among_clients() -> None:
    queue = WorkspaceQueue()
    begun: list[int] = []
    end = asyncio.Event()

    async def write(client: int) -> None:
        ticket = Ticket(client, Access.WRITE, lambda: None)
        queue.add(ticket)
        try:
            await ticket.admitted()
            await ticket.turn()
            begun.append(client)
            await end.wait()
        finally:
            ticket.leave()

    tasks = [asyncio.ensure_future(write(client)) for client in range(20)]
    await asyncio.sleep(0.01)
    assert begun == list(range(TURNS_AT_ONCE))
    end.set()
    await asyncio.gather(*tasks)
    assert begun == list(range(20))
