"""Agents: sessions with steps and parts of steps, some of which die in the middle of one.

Each step writes one file of its own that nobody else touches: its entry in the *ledger*. So whether a step is in the
files can be seen without knowing how snapd takes anything back.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from random import Random
from typing import Any

import attrs

from .client import Client, Refused
from .disk import ASIDE, State, captured, tree_id
from .edits import edited, text
from .place import Place
from .problems import holds

Write = Callable[[str, bytes], None]
_STEPS_OF_A_SESSION = 14


@attrs.define(eq=False)
class Entry:
    """A step, as the ledger has it.

    Attributes:
        is_certain: whether what it wrote is its own without doubt: it named its files when it ended, while its session
            was not being undone.
    """

    step: str
    file: str
    data: bytes
    message: str
    is_certain: bool = True
    has_ended: bool = False
    claims: list[str] = attrs.field(factory=list)


@attrs.define(eq=False)
class Session:
    """A session, as those who work with it know it.

    Attributes:
        disturbed: how many operations about it are under way.
    """

    name: str
    entries: dict[str, Entry] = attrs.field(factory=dict)
    has_ended: bool = False
    disturbed: int = 0

    def doubt(self) -> None:
        """An undo may end open steps on its own: what those wrote is theirs without their having named it."""
        for entry in self.entries.values():
            if not entry.has_ended:
                entry.is_certain = False


@attrs.define(eq=False)
class Agent:
    """Somebody who works in one session after the other."""

    place: Place
    name: str
    _new_client: Callable[[str], Client]
    _sessions: dict[str, Session]
    _count: int = 0
    _open: list[Entry] = attrs.field(factory=list)
    session: Session | None = None
    client: Client = attrs.field(init=False)

    async def connect(self, socket: str) -> None:
        self.client = self._new_client(self.name)
        await self.client.open(socket, [self.place.root])

    async def work(self, dice: Random, write: Write, *, calm: bool) -> int:
        """Takes a step, with or without parts, or goes on with one that was left open.

        Args:
            calm: whether nothing else is under way in the folder, so that hashes can be foretold.

        Returns:
            How many steps were begun.
        """
        await self._settle(dice)
        session = await self._started()
        begun = 1
        await self._begin(session, None, dice)
        self._write(dice, write, calm=calm)
        if dice.random() < 0.3:
            begun += 1
            await self._begin(session, self._open[-1], dice)
            self._write(dice, write, calm=calm)
            await self._end(dice, calm=calm)
            if dice.random() < 0.5:
                self._write(dice, write, calm=calm)
        if dice.random() > 0.12:
            await self._end(dice, calm=calm)
        return begun

    async def die(self, socket: str) -> None:
        """Hangs up, in the middle of whatever it was, and comes back."""
        self.client.close()
        await self.connect(socket)

    def forget(self) -> None:
        """Leaves its open steps as they are, for good."""
        for entry in self._open:
            entry.is_certain = False
            entry.has_ended = True
        self._open.clear()

    async def retire(self) -> None:
        """Ends the session after a while, so that another is begun and the old one may expire."""
        session = self.session
        if session is None or len(session.entries) < _STEPS_OF_A_SESSION or session.disturbed:
            return
        self.forget()
        # whether or not an answer comes, it may have ended
        self.session = None
        await self.client.ask("session/end", {"sessionId": session.name})
        session.has_ended = True

    async def _settle(self, dice: Random) -> None:
        """What a dead connection or daemon left open is ended by name, or left for good."""
        if self._open and dice.random() < 0.3:
            self.forget()
        while self._open:
            await self._end(dice, calm=False)

    async def _started(self) -> Session:
        if self.session is None:
            self._count += 1
            name = f"{self.name}-{self._count}"
            await self.client.ask("session/start", {"sessionId": name, "agent": self.name})
            self.session = Session(name)
            self._sessions[name] = self.session
        return self.session

    async def _begin(self, session: Session, parent: Entry | None, dice: Random) -> None:
        number = len(session.entries)
        message = f"m{number // 2}"
        params: dict[str, Any] = {"sessionId": session.name, "messageId": message, "tool": "edit"}
        if parent is not None:
            params["parentStepId"] = parent.step
        if dice.random() < 0.1:
            params["detached"] = True
        result = await self.client.ask("step/begin", params)
        entry = Entry(result["stepId"], f"ledger/{session.name}/{number}", text(dice, 4), message)
        entry.is_certain = session.disturbed == 0 and self.place.overwriting == 0
        session.entries[entry.step] = entry
        self._open.append(entry)

    def _write(self, dice: Random, write: Write, *, calm: bool) -> None:
        entry = self._open[-1]
        write(entry.file, entry.data)
        entry.claims.append(entry.file)
        for _ in range(dice.randint(0, 3)):
            entry.claims += self._write_one(dice, write, calm=calm)

    def _write_one(self, dice: Random, write: Write, *, calm: bool) -> list[str]:
        place = self.place
        below = os.path.join(place.root, "src")
        names = sorted(f"src/{entry.name}" for entry in os.scandir(below) if entry.is_file(follow_symlinks=False))
        # an operation's files that are still aside are nobody's to edit
        names = [name for name in names if not ASIDE.search(name)]
        names += [name for name in (f"src/doc/doc{number}.txt" for number in range(4)) if name not in place.unsaved]
        name = dice.choice([*names, f"src/made{dice.randint(0, 9)}.txt"])
        path = os.path.join(place.root, name)
        if calm and os.path.isfile(path) and not name.startswith("src/doc/") and dice.random() < 0.15:
            if dice.random() < 0.5:
                os.unlink(path)
                return [name]
            moved = f"src/moved{dice.getrandbits(24):x}.txt"
            os.rename(path, os.path.join(place.root, moved))
            return [name, moved]
        try:
            with open(path, "rb") as file:
                data = edited(file.read(), dice)
        except FileNotFoundError:
            data = text(dice)
        write(name, data)
        return [name]

    async def _end(self, dice: Random, *, calm: bool) -> None:
        entry = self._open[-1]
        params: dict[str, Any] = {"stepId": entry.step}
        # where the ledger counts, all say what they wrote: what nobody names belongs to all who do not say
        if not self.place.restores or dice.random() < 0.5:
            params["files"] = [self.place.shown(name) for name in entry.claims]
        session = self.session
        if session is None or session.disturbed or self.place.overwriting:
            entry.is_certain = False
        try:
            # where no answer comes it may have ended or not, and is said again: that is as if it were said once
            result = await self.client.ask("step/end", params)
        except Refused as error:
            holds(error.kind == "unknownStep" and self.place.doubtful, str(error))
            entry.is_certain = False
            self._open.remove(entry)
            return
        entry.has_ended = True
        self._open.remove(entry)
        if calm:
            now = captured(self.place.scan())
            holds(result["to"] == tree_id(now), f"{self.place.name}: step/end answered {result['to']} for another tree")


async def check_ledger(client: Client, place: Place, sessions: dict[str, Session], disk: State) -> int:
    """Compares what the timeline says of steps with what is there of them; gives how many steps that were."""
    count = 0
    for session in list(sessions.values()):
        try:
            told = (await client.ask("session/steps", {"sessionId": session.name}))["steps"]
        except Refused as error:
            holds(error.kind == "unknownSession" and session.has_ended and place.doubtful, str(error))
            del sessions[session.name]
            continue
        states = {step["stepId"]: step["state"] for step in told}
        for entry in session.entries.values():
            state = states.get(entry.step)
            holds(state is not None, f"step {entry.step} of {session.name} is lost")
            if place.restores or not entry.is_certain or not entry.has_ended:
                continue
            count += 1
            found = disk.get(entry.file)
            if state == "applied":
                holds(
                    found is not None and place.bytes_of(found) == entry.data,
                    f"{place.name}: {entry.step} is applied, and {entry.file} is {found}",
                )
            elif state == "undone":
                is_kept = entry.file in place.only_copies and found is not None and place.bytes_of(found) == entry.data
                holds(found is None or is_kept, f"{place.name}: {entry.step} is undone, and {entry.file} is {found}")
            elif state == "partly":
                # an undo left some of the step's files, this one or others: it is as the step wrote it, or it is gone
                holds(
                    found is None or place.bytes_of(found) == entry.data,
                    f"{place.name}: {entry.step} is partly undone, and {entry.file} is {found}",
                )
            else:
                holds(False, f"{place.name}: {entry.step} was ended, and is {state}")
    return count
