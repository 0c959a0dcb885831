"""What goes on in one workspace between two looks at its disk: calm, where hashes can be foretold, or all at once."""

from __future__ import annotations

import asyncio
import base64
import os
import subprocess
import sys
from random import Random
from typing import Literal

import attrs

from .agents import Agent, Session, check_ledger
from .client import Client, Gone, Refused
from .daemon import Daemon
from .disk import Entry, State, captured, differing, tree_id
from .editors import Editor
from .edits import edited, overwrite, put
from .figures import Figures
from .operations import Operation, carried_out, check_outcome, chosen, may_refuse
from .place import Place
from .problems import Broken, Diary, holds

_RACING_WRITES = 6


@attrs.define
class Crew:
    """A workspace and all who are at work there.

    Attributes:
        tool: a client that operates, looks and maintains.
        listener: one that has only this folder open and only listens.
    """

    place: Place
    agents: list[Agent]
    editors: list[Editor]
    sessions: dict[str, Session]
    tool: Client
    listener: Client
    daemon: Daemon
    diary: Diary
    figures: Figures

    @property
    def actors(self) -> list[Agent | Editor]:
        """All who have a connection of their own that they care for themselves."""
        return [*self.agents, *self.editors]


@attrs.define
class Turn:
    """What went on, for whoever checks it, also where the daemon was killed in the middle.

    Attributes:
        phase: `still` while nothing but clients writes to the folder; `operation` while one operation is under way and
            nobody else writes; `busy` while all do.
        base: the folder before.
        written: all that was written since, by file, the last one last.
        overwrites: whether unsaved files may have been written.
        under_way: set once an operation was sent.
    """

    crew: Crew
    dice: Random
    under_way: asyncio.Event
    phase: Literal["still", "operation", "busy"] = "still"
    base: State = attrs.field(factory=dict)
    written: dict[str, list[Entry]] = attrs.field(factory=dict)
    operation: Operation | None = None
    overwrites: bool = False
    was_operated: bool = False

    async def run(self) -> None:
        kind = self.dice.choice(["calm"] * 5 + ["busy"] * 4 + ["maintenance"])
        self.crew.diary.note(f"{self.crew.place.name}: {kind}")
        await {"calm": self.calm, "busy": self.busy, "maintenance": self.maintain}[kind]()

    # -- calm

    async def calm(self) -> None:
        """Edits and steps, one after the other; then one operation, whose hashes and outcome are foretold."""
        crew, dice, place = self.crew, self.dice, self.crew.place
        for _ in range(dice.randint(0, 5)):
            done = place.user.edit(dice, place.scan(), frozenset(place.unsaved))
            crew.diary.note(f"{place.name}: the user: {done}")
            if dice.random() < 0.3:
                await self._track()
        if crew.editors and dice.random() < 0.5:
            await dice.choice(crew.editors).type(dice)
        if dice.random() < 0.7:
            await self._step(dice.choice(crew.agents))
        await self._track()
        await self._operate()
        if dice.random() < 0.3:
            await self._there_and_back()
        await self._check_still()
        self._retire_ledgers()

    def _retire_ledgers(self) -> None:
        """The user clears away what sessions that are over left in the ledger."""
        ended = [session for session in self.crew.sessions.values() if session.has_ended]
        for session in ended[:-2]:
            self.crew.place.drop_ledger(session.name)
            del self.crew.sessions[session.name]

    async def _track(self) -> None:
        place = self.crew.place
        tree = place.known(place.scan())
        result = await self.crew.tool.ask("snapshot/track", {})
        self._is_tree("track", result["hash"], tree)
        skipped = {one["file"]: one["reason"] for one in result["skipped"]}
        holds(skipped == {"too-large": "tooLarge", "pipe": "special"}, f"{place.name}: skipped {skipped}")
        place.doubtful.discard(tree)
        self.crew.figures.hashes_checked += 1

    async def _step(self, agent: Agent) -> None:
        def write(name: str, data: bytes) -> None:
            self.crew.place.contents.put(data)
            os.makedirs(os.path.dirname(os.path.join(self.crew.place.root, name)), exist_ok=True)
            overwrite(self.crew.place.root, name, data)

        self.crew.figures.steps += await agent.work(self.dice, write, calm=True)
        await agent.retire()

    async def _operate(self) -> None:
        """One operation while nobody else writes."""
        crew, place = self.crew, self.crew.place
        client = self.dice.choice([crew.tool, *(agent.client for agent in crew.agents)])
        operation = await chosen(self.dice, place, crew.sessions, client)
        if operation is not None:
            await self._do(client, operation)

    async def _do(self, client: Client, operation: Operation) -> bool:
        """Carries an operation out and checks it; whether all of it was done."""
        crew, place = self.crew, self.crew.place
        before = self.base = place.scan()
        self.operation, self.overwrites, self.phase = operation, operation.overwrites, "operation"
        self.under_way.set()
        outcome = await carried_out(client, operation, crew.sessions, place, crew.figures)
        after = place.scan()
        self.phase = "still"
        holds(not differing(_unsaved(place, before), _unsaved(place, after)) or self.overwrites, "unsaved was written")
        crew.figures.unsaved_files_checked += len(place.unsaved)
        if outcome is None:
            holds(before == after, f"{place.name}: {operation} was refused, and wrote {differing(before, after)}")
            return False
        check_outcome(place, operation, outcome, captured(before), captured(after))
        trees = place.known(before), place.known(after)
        place.doubtful -= set(trees)
        self._is_tree("before", outcome["before"], trees[0])
        if operation.is_dry:
            return False
        self._is_tree("after", outcome["after"], trees[1])
        crew.figures.hashes_checked += 2
        quiet = {"restored", "deleted", "merged", "unchanged"}
        return bool(outcome["applied"]) and all(one["outcome"] in quiet for one in outcome["files"])

    async def _there_and_back(self) -> None:
        """An undo and its redo lead back to where they began."""
        crew, place = self.crew, self.crew.place
        known = [session for session in crew.sessions.values() if session.entries]
        if not known:
            return
        session = self.dice.choice(known[-2:])
        listed = (await crew.tool.ask("session/list", {}))["sessions"]
        redoable = next((each["redoable"] for each in listed if each["sessionId"] == session.name), 0)
        before = captured(place.scan())
        about = {"sessionId": session.name}
        # a redo brings back what was undone of a step before as well, if no other was undone in between
        if not await self._do(crew.tool, Operation("session/undo", dict(about), session)) or redoable:
            return
        # redo takes the last undo back, as long as that changed something
        if captured(place.scan()) != before and await self._do(
            crew.tool, Operation("session/redo", dict(about), session)
        ):
            after = captured(place.scan())
            holds(after == before, f"{place.name}: redo did not bring back {differing(before, after)}")

    def _is_tree(self, what: str, told: str, expected: str) -> None:
        """Names the files in which two trees differ, if they do."""
        if told == expected:
            return
        place = self.crew.place
        found = place.store.tree(told)
        files = place.snapshots[expected]
        names = differing(found, files)
        rows = [f"{name}: snapshot {found.get(name)}, disk {files.get(name)}" for name in names]
        raise Broken(f"{place.name}: {what} is {told} and not {expected}: {rows}")

    async def _check_still(self) -> None:
        crew, place = self.crew, self.crew.place
        disk = place.scan()
        crew.figures.ledger_entries_checked += await check_ledger(crew.tool, place, crew.sessions, disk)

    # -- all at once

    async def busy(self) -> None:
        """Agents, a racing user, readers and operations at once; nothing of what they wrote may be lost."""
        crew, dice, place = self.crew, self.dice, self.crew.place
        if crew.editors and dice.random() < 0.3:
            await dice.choice(crew.editors).type(dice)
        self.base = place.scan()
        self.phase = "busy"
        operations = dice.choice([0, 0, 1, 1, 2])
        self.was_operated = operations > 0
        tasks = [self._agent(agent, Random(dice.random())) for agent in crew.agents]
        tasks += [self._race(Random(dice.random())), self._look(Random(dice.random()))]
        tasks += [self._operate_amid(Random(dice.random())) for _ in range(operations)]
        if operations and place.restores and dice.random() < 0.6:
            tasks.append(self._duel(Random(dice.random())))
        if not operations:
            tasks += [self._track_own(client) for client in (crew.tool, crew.listener)]
        if dice.random() < 0.15:
            tasks.append(self._maintenance(dice.choice(["cleanup", "git gc", "snapd gc"])))
        await together(tasks)
        await self.settle()
        await self._check_still()

    async def settle(self) -> None:
        """Checks what is on disk after all at once, be it that the daemon was killed meanwhile."""
        crew, place = self.crew, self.crew.place
        # an operation beyond its point of no return goes on although its client died; the next request waits for it
        await crew.tool.ask("snapshot/track", {})
        after = place.scan()
        holds(
            self.overwrites or not differing(_unsaved(place, self.base), _unsaved(place, after)), "unsaved was written"
        )
        crew.figures.unsaved_files_checked += len(place.unsaved)
        self.check_whole(after)
        self.check_survivors(after)
        self.phase = "still"
        await self._track()
        holds(captured(place.scan()) == captured(after), f"{place.name}: it changed when all was done")

    def check_whole(self, now: State) -> None:
        """Each file is as somebody wrote it, or as the store has it: none is half of anything."""
        strange = {
            entry[1]: name
            for name, entry in captured(now).items()
            if entry != self.base.get(name) and entry not in self.written.get(name, [])
        }
        lacking = self.crew.place.store.lacks(strange) if strange else set()
        holds(not lacking, f"{self.crew.place.name}: half written: {[strange[oid] for oid in lacking]}")

    def check_survivors(self, now: State) -> None:
        """What was on disk and was not overwritten by its own author is there still, or in a snapshot."""
        last = {**captured(self.base), **{name: entries[-1] for name, entries in self.written.items()}}
        gone = {entry[1]: name for name, entry in last.items() if now.get(name, ("", ""))[1] != entry[1]}
        present = {oid for _, oid in captured(now).values()}
        wanted = set(gone) - present
        lost = self.crew.place.store.in_no_snapshot(wanted)
        holds(not lost, f"{self.crew.place.name}: lost for good: {[(oid, gone[oid]) for oid in lost]}")
        self.crew.figures.bytes_found_in_snapshots += sum(len(self.crew.place.contents[oid]) for oid in wanted)

    def _write(self, name: str, data: bytes) -> None:
        place = self.crew.place
        # known before it is there: a scan after a kill may come between
        self.written.setdefault(name, []).append(("100644", place.contents.put(data)))
        put(place.root, name, data, place.aside)
        self.crew.figures.racing_writes += 1

    async def _agent(self, agent: Agent, dice: Random) -> None:
        for _ in range(dice.randint(0, 2)):
            self.crew.figures.steps += await agent.work(dice, self._write, calm=False)
            if dice.random() < 0.08:
                await agent.die(self.crew.daemon.socket)
                self.crew.figures.dropped_connections += 1

    async def _race(self, dice: Random) -> None:
        place = self.crew.place
        for _ in range(dice.randint(0, _RACING_WRITES)):
            name = f"src/racy/racy{dice.randint(0, 2)}.txt"
            entries = self.written.get(name, [])
            known = entries[-1] if entries else self.base.get(name)
            data = place.bytes_of(known) if known is not None else b""
            self._write(name, edited(data, dice) + b"%x\n" % dice.getrandbits(64))
            await asyncio.sleep(dice.random() * 0.02)

    async def _duel(self, dice: Random) -> None:
        """A file is brought back again and again while somebody replaces it without a pause."""
        crew, place = self.crew, self.crew.place
        name = f"src/racy/racy{dice.randint(0, 2)}.txt"
        known = [tree for tree in place.snapshots if tree not in place.doubtful and name in place.snapshots[tree]]
        if not known:
            return
        fighting = asyncio.create_task(self._replace_on_and_on(name, dice))
        try:
            for _ in range(4):
                patch = {"hash": dice.choice(known[-20:]), "files": [name]}
                await carried_out(
                    crew.tool, Operation("snapshot/revert", {"patches": [patch]}), crew.sessions, place, crew.figures
                )
        finally:
            fighting.cancel()
            await asyncio.gather(fighting, return_exceptions=True)

    async def _replace_on_and_on(self, name: str, dice: Random) -> None:
        while True:
            self._write(name, b"%x\n" % dice.getrandbits(256))
            # in their own time, so that they come between any two system calls of the daemon
            await asyncio.sleep(dice.random() * 0.002)

    async def _operate_amid(self, dice: Random) -> None:
        crew = self.crew
        client = dice.choice([crew.tool, *(agent.client for agent in crew.agents)])
        try:
            await self._operate_by(client, dice)
        except Gone:
            # an agent may die in the middle of an operation that it has asked for
            if not client.has_hung_up:
                raise

    async def _operate_by(self, client: Client, dice: Random) -> None:
        crew = self.crew
        operation = await chosen(dice, crew.place, crew.sessions, client)
        if operation is None:
            return
        # what it asked about meanwhile may have changed: the answer says what it found
        self.overwrites = self.overwrites or operation.overwrites
        await asyncio.sleep(dice.random() * 0.05)
        self.under_way.set()
        await carried_out(client, operation, crew.sessions, crew.place, crew.figures)

    async def _track_own(self, client: Client) -> None:
        """What a client wrote before it asked is in the snapshot, whatever others do at the same time."""
        place = self.crew.place
        name = f"own/{client.name.partition(':')[0]}.txt"
        data = b"%x\n" % self.dice.getrandbits(256)
        self._write(name, data)
        result = await client.ask("snapshot/track", {})
        files = place.store.tree(result["hash"])
        holds(files.get(name) == ("100644", place.contents.put(data)), f"{place.name}: {name} is not as it was written")
        strange = [one for one, entry in files.items() if entry[1] not in place.contents]
        holds(not strange, f"{place.name}: {result['hash']} holds what nobody wrote: {strange}")

    async def _look(self, dice: Random) -> None:
        crew, place = self.crew, self.crew.place
        for _ in range(dice.randint(0, 3)):
            method = dice.choice(["diff", "diffFull", "patch", "history", "list", "status", "steps"])
            if method in ("diff", "diffFull", "patch") and (
                known := [tree for tree in place.snapshots if tree not in place.doubtful]
            ):
                key = "from" if method == "diffFull" else "hash"
                await crew.listener.ask(f"snapshot/{method}", {key: dice.choice(known[-30:])})
            elif method == "history":
                await crew.listener.ask("session/history", {"limit": 10})
            elif method == "steps" and crew.sessions:
                name = dice.choice(list(crew.sessions))
                try:
                    await crew.listener.ask("session/steps", {"sessionId": name})
                except Refused as error:
                    holds(may_refuse(error, Operation("", {}, crew.sessions[name]), place), str(error))
            else:
                await crew.listener.ask("session/list" if method == "list" else "snapshot/status", {})

    # -- maintenance

    async def maintain(self) -> None:
        """Maintenance alone: nothing may change in the folder."""
        place = self.crew.place
        await self._track()
        before = place.scan()
        self.under_way.set()
        await self._maintenance(self.dice.choice(["cleanup", "expire", "git gc", "snapd gc"]))
        after = place.scan()
        holds(before == after, f"{place.name}: maintenance changed {differing(before, after)}")
        await self._track()

    async def _maintenance(self, kind: str) -> None:
        crew, place = self.crew, self.crew.place
        crew.diary.note(f"{place.name}: {kind}")
        if kind == "expire":
            # whatever comes of the request, what it takes is not promised any more
            place.doubtful |= set(place.snapshots)
            await crew.tool.ask("snapshot/cleanup", {"olderThanDays": 0})
        elif kind == "cleanup":
            await crew.tool.ask("snapshot/cleanup", {})
        elif kind == "git gc":
            crew.figures.git_gcs += 1
            await asyncio.to_thread(place.store.git, "gc", "--quiet")
            return
        else:
            command = [sys.executable, "-m", "snapd", "gc"]
            done = await asyncio.to_thread(
                subprocess.run, command, cwd=place.root, env=crew.daemon.environment, capture_output=True, timeout=120
            )
            # a daemon that is killed under it is told as an error of its own
            holds(b"Traceback" not in done.stderr, done.stderr.decode())
        crew.figures.cleanups += 1

    # -- looking at what was stored

    async def verify(self) -> None:
        """Reads some snapshots back, through the daemon and through git."""
        crew, place, dice = self.crew, self.crew.place, self.dice
        known = list(place.snapshots)
        for tree in dice.sample(known, min(2, len(known))) + known[-1:]:
            files = place.snapshots[tree]
            names = dice.sample(sorted(files), min(3, len(files)))
            try:
                listed = (await crew.tool.ask("snapshot/listFiles", {"hash": tree}))["files"]
                await self._read_back(tree, names)
            except Refused as error:
                holds(error.kind == "unknownSnapshot" and tree in place.doubtful, f"{tree}: {error}")
                continue
            holds(len(listed) == len(files), f"{place.name}: {tree} lists {len(listed)} of {len(files)} files")
            self.check_stored(tree)

    async def _read_back(self, tree: str, names: list[str]) -> None:
        place = self.crew.place
        for name in names:
            try:
                name.encode()
            except UnicodeEncodeError:
                continue
            told = await self.crew.tool.ask("snapshot/fileAt", {"hash": tree, "file": name})
            content = told["content"]
            data = base64.b64decode(content) if told["encoding"] == "base64" else content.encode()
            mode, oid = place.snapshots[tree][name]
            holds((told["mode"], data) == (mode, place.contents[oid]), f"{place.name}: {tree}:{name} is another")
            self.crew.figures.files_checked += 1
            self.crew.figures.bytes_checked += len(data)

    def check_stored(self, tree: str) -> None:
        """Compares a snapshot with what was on disk, by git alone and byte for byte."""
        place, figures = self.crew.place, self.crew.figures
        files = place.snapshots[tree]
        holds(tree_id(files) == tree, "our own bookkeeping")
        holds(place.store.tree(tree) == files, f"{place.name}: {tree} is another tree in the store")
        for oid, data in place.store.blobs(oid for _, oid in files.values()).items():
            holds(data == place.contents[oid], f"{place.name}: {oid} of {tree} has other bytes")
            figures.bytes_checked += len(data)
        figures.files_checked += len(files)
        figures.snapshots_checked += 1


async def together(tasks: list) -> None:  # type: ignore[type-arg]
    """Runs all to their ends, then raises the first of what they raised: none goes on behind our back."""
    results = await asyncio.gather(*tasks, return_exceptions=True)
    failed = [result for result in results if isinstance(result, BaseException)]
    # what is broken says more than that the daemon is gone
    for result in sorted(failed, key=lambda error: not isinstance(error, AssertionError)):
        raise result


def _unsaved(place: Place, state: State) -> State:
    return {name: entry for name, entry in state.items() if name in place.unsaved}
