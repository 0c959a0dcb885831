"""The soak: rounds of turns in several workspaces at once, kills among them, and what has to hold after each."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from random import Random

from .agents import Agent, check_ledger
from .client import Client, Gone, Tape
from .daemon import DESCRIPTORS_OF_A_FOLDER, DESCRIPTORS_OF_THE_DAEMON, Daemon
from .disk import ASIDE, Contents, State, captured, differing
from .editors import Deaf, Editor
from .place import Place
from .problems import holds
from .store import store_of
from .turns import Crew, Turn, together

_AGENTS = 3
_KILL_DELAY = 0.12
"""Seconds at most between an operation that was sent and a kill; most kills come sooner, while it is under way."""
_MORE_AT_ONCE = 32
"""A daemon that is asked for much at once may have that many more descriptors for a moment."""


class Soak:
    """One run.

    Args:
        kill_every: rounds between kills, on average.
        verify_every: rounds between two looks at what is stored.
    """

    def __init__(self, folder: Path, seed: int, kill_every: int, verify_every: int) -> None:
        self._tape = Tape()
        self.figures = self._tape.figures
        self.diary = self._tape.diary
        self._folder = folder
        self._seed = seed
        self._kill_every = kill_every
        self._verify_every = verify_every
        self._daemon = Daemon(folder, self.figures)
        self._contents = Contents()
        self._crews: list[Crew] = []
        self._watcher: Client
        self._deaf = Deaf()
        self._clients = 0

    async def run(self, minutes: float, kill_in_round: int | None = None) -> None:
        """Runs rounds until the time is over, then looks at everything once more.

        Args:
            kill_in_round: the round in which the daemon is killed, beside those that the seed says.
        """
        try:
            await self._rounds(minutes, kill_in_round)
        finally:
            await self._daemon.abandon()

    async def _rounds(self, minutes: float, kill_in_round: int | None) -> None:
        begun = time.monotonic()
        await self._begin()
        number = 0
        while time.monotonic() - begun < minutes * 60 or (kill_in_round is not None and number <= kill_in_round):
            dice = Random(f"{self._seed}/{number}")
            is_fatal = dice.random() < 1 / self._kill_every or number == kill_in_round
            await self._round(number, dice, is_fatal=is_fatal)
            number += 1
        self.figures.rounds = number
        await self._finish()
        self.figures.minutes = (time.monotonic() - begun) / 60

    # -- the beginning and the end

    async def _begin(self) -> None:
        await self._daemon.start()
        for name, git, restores in (("repo", True, True), ("plain", False, True), ("ledger", True, False)):
            place = Place(self._folder, name, git, restores, self._contents, Random(f"{self._seed}/{name}"))
            crew = Crew(
                place, [], [], {}, self._client("tool"), self._client("tool"), self._daemon, self.diary, self.figures
            )
            crew.agents += [
                Agent(place, f"{name}-agent{number}", self._client, crew.sessions) for number in range(_AGENTS)
            ]
            documents = [f"src/doc/doc{number}.txt" for number in range(4)]
            crew.editors += [
                Editor(place, f"{name}-editor{number}", self._client, documents[number::2]) for number in range(2)
            ]
            self._crews.append(crew)
        await self._connect()
        for crew in self._crews:
            status = await crew.tool.ask("snapshot/status", {})
            crew.place.store = store_of(str(self._daemon.data), status["projectId"])
            tree = crew.place.known(crew.place.scan())
            holds((await crew.tool.ask("snapshot/track", {}))["hash"] == tree, f"{crew.place.name}: the first snapshot")

    def _client(self, name: str) -> Client:
        self._clients += 1
        return Client(f"{name}:{self._clients}", self._tape)

    async def _connect(self) -> None:
        """Everybody connects, with a connection of their own."""
        socket, roots = self._daemon.socket, [crew.place.root for crew in self._crews]
        self._watcher = await self._client("watcher").open(socket, roots)
        self._deaf.connect(socket, roots)
        for crew in self._crews:
            crew.tool = await self._client(f"{crew.place.name}-tool").open(socket, [crew.place.root])
            crew.listener = await self._client(f"{crew.place.name}-listener").open(socket, [crew.place.root])
            for actor in crew.actors:
                await actor.connect(socket)

    async def _finish(self) -> None:
        for crew in self._crews:
            place = crew.place
            for tree in [tree for tree in place.snapshots if tree not in place.doubtful]:
                Turn(crew, Random(0), asyncio.Event()).check_stored(tree)
            await crew.tool.ask("snapshot/cleanup", {})
            crew.figures.git_fscks += 1
            place.store.fsck()
            holds(not place.store.leftovers(), f"left behind: {place.store.leftovers()}")
            check = await crew.tool.ask("snapshot/check", {})
            holds(not check["problems"], f"{place.name}: snapshot/check says {check['problems']}")
        self._look_around()
        self._daemon.measure(None)
        self._deaf.close()
        for client in self._everybody():
            client.close()
        await self._daemon.stop()
        self._daemon.check_log()
        self.figures.store_mib = sum(crew.place.store.size() for crew in self._crews) / (1 << 20)

    def _everybody(self) -> list[Client]:
        found = [self._watcher]
        for crew in self._crews:
            found += [crew.tool, crew.listener, *(actor.client for actor in crew.actors)]
        return found

    # -- a round

    async def _round(self, number: int, dice: Random, *, is_fatal: bool) -> None:
        self.diary.note(f"round {number}{', fatal' if is_fatal else ''}")
        under_way = asyncio.Event()
        turns = [Turn(crew, Random(dice.random()), under_way) for crew in self._crews]
        if is_fatal:
            killing = asyncio.create_task(self._kill(under_way, dice.random() ** 3 * _KILL_DELAY))
            try:
                await together([self._until_gone(turn) for turn in turns])
            finally:
                under_way.set()
                await killing
            await self._recover(turns)
        else:
            await together([self._alive(turn) for turn in turns])
        if number % self._verify_every == 0 or is_fatal:
            await together([turn.verify() for turn in turns])
            await self._compare_events()
        self._look_around()

    async def _alive(self, turn: Turn) -> None:
        try:
            await turn.run()
        except Gone:
            holds(False, "the daemon hung up")

    async def _until_gone(self, turn: Turn) -> None:
        try:
            await turn.run()
        except Gone:
            self.diary.note(f"{turn.crew.place.name}: gone in {turn.phase}")

    async def _kill(self, under_way: asyncio.Event, delay: float) -> None:
        await under_way.wait()
        await asyncio.sleep(delay)
        self.diary.note("kill")
        await self._daemon.kill()
        self.figures.kills += 1

    # -- after a kill

    async def _recover(self, turns: list[Turn]) -> None:
        await self._daemon.kill_others()
        dead = {turn.crew.place.name: turn.crew.place.scan() for turn in turns}
        self._daemon.check_log()
        for client in self._everybody():
            client.close()
        self._tape.new_life()
        await self._daemon.start()
        await self._connect()
        for turn in turns:
            await self._check_recovery(turn, dead[turn.crew.place.name])

    async def _check_recovery(self, turn: Turn, dead: State) -> None:
        """Compares a folder as it was when the daemon died, and as the next one made it."""
        crew, place = turn.crew, turn.crew.place
        told = await crew.tool.ask("snapshot/track", {})
        after = place.scan()
        aside = [name for name in after if ASIDE.search(name)]
        holds(not aside, f"{place.name}: left behind {aside}")
        tree = place.known(after)
        place.doubtful.discard(tree)
        holds(told["hash"] == tree, f"{place.name}: after the kill, track says {told['hash']} and not {tree}")
        unsaved = [name for name in place.unsaved if after.get(name) != turn.base.get(name)]
        if turn.phase == "still":
            changed = differing(captured(dead), captured(after))
            holds(not changed, f"{place.name}: no operation was under way, and the next daemon changed {changed}")
        else:
            holds(turn.overwrites or not unsaved, f"{place.name}: unsaved was written: {unsaved}")
            turn.check_whole(dead)
            turn.check_whole(after)
            turn.check_survivors(after)
            crew.figures.kills_amid_operations += turn.operation is not None or turn.was_operated
        if turn.phase == "operation":
            await self._check_operation(turn, captured(dead), captured(after))
        crew.figures.ledger_entries_checked += await check_ledger(crew.tool, place, crew.sessions, after)
        crew.figures.git_fscks += 1
        await asyncio.to_thread(place.store.fsck)

    async def _check_operation(self, turn: Turn, dead: State, after: State) -> None:
        """An operation that was cut short was not begun, or was finished; and the history says so."""
        place, before = turn.crew.place, captured(turn.base)
        torn = [name for name in differing(before, dead) if dead.get(name) != after.get(name)]
        holds(not torn, f"{place.name}: neither old nor new when the daemon died: {torn}")
        if after == before:
            return
        turn.crew.figures.operations_completed_by_recovery += 1
        entries = (await turn.crew.tool.ask("session/history", {"limit": 5}))["entries"]
        trees = place.known(turn.base), place.known(after)
        found = [(entry["before"], entry.get("after")) for entry in entries if entry["kind"] not in ("step", "user")]
        holds(trees in found, f"{place.name}: it went from {trees[0]} to {trees[1]}, and the history says {found}")

    # -- after each round

    async def _compare_events(self) -> None:
        """What `snapshot/events` says of the past is what was told then."""
        for crew in self._crews:
            uri = crew.place.uri
            latest = (await crew.tool.ask("snapshot/events", {"since": 0}))["latest"]
            since = max(self._tape.first(uri), latest - 20)
            told = await crew.tool.ask("snapshot/events", {"since": since})
            numbers = [event["params"]["seq"] for event in told.get("events", [])]
            holds(numbers == list(range(since + 1, told["latest"] + 1)), f"{uri}: events after {since} are {told}")
            for event in told["events"]:
                params = event["params"]
                self._tape.compare(params["workspaceUri"], params["seq"], event["method"], params)

    def _look_around(self) -> None:
        self.diary.check()
        for crew in self._crews:
            touched = crew.place.touched()
            holds(not touched, f"touched: {touched}")
        most = DESCRIPTORS_OF_THE_DAEMON + DESCRIPTORS_OF_A_FOLDER * len(self._crews)
        self._daemon.measure(most + len(self._everybody()) + _MORE_AT_ONCE)
