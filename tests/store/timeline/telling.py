"""A store that is told legal events, and the model of what it must answer."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Literal

import attrs

from snapd.model.snapshot import REGULAR, Coverage, Entry, ObjectId, Snapshot
from snapd.model.timeline import (
    Effect,
    Event,
    EventPayload,
    FileSummary,
    Operated,
    Reversal,
    SessionEnded,
    SessionStarted,
    SnapshotId,
    Span,
    StepBegun,
    StepEnded,
    StepsLeft,
    Summary,
)
from snapd.store.store import Store
from tests.store.steps import write_tree
from tests.support.git import run_git

from .model import Model

DAY = 86_400_000


class Telling:
    """A store, and what it was told.

    Attributes:
        path: where the store lies.
        store: it, open.
        model: what it must answer.
        now: milliseconds since 1970, of the next event.
        gone: the steps whose client is gone.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.model = Model()
        self.now = 1_700_000_000_000
        self.store = Store(str(path), None)
        self.files = {"a.txt": b"first\n", "d/b": b"x" * 500}
        self.gone: set[str] = set()
        self._number = 0
        self.snapshot = self.stored(Coverage())

    @property
    def database(self) -> Path:
        return self.path / "timeline.db"

    # -- the work tree

    def edit(self) -> SnapshotId:
        """Changes the work tree; gives what it is now, as the next event will see it."""
        self._number += 1
        self.files["a.txt"] = b"edit %d\n" % self._number
        coverage = Coverage(empty_dirs=(b"empty%d" % (self._number % 3),))
        self.snapshot = self.stored(coverage)
        return self.store.identify(self.snapshot)

    def blob(self, data: bytes) -> ObjectId:
        """Stores a file that is in no tree."""
        return self.store.store_blob(data)

    def stored(self, coverage: Coverage) -> Snapshot:
        with self.store.batch() as batch:
            tree = write_tree(batch, self.files)
            batch.commit()
        return Snapshot(tree, coverage)

    # -- events

    def tell(self, what: EventPayload) -> Event:
        """Tells what happened, with a look at the work tree."""
        event = self.event(what)
        self.store.append(event)
        self.model.events.append(event)
        if isinstance(what, StepEnded):
            self.model.drop_summaries(what.step_id)
        self.now += 1000
        return event

    def simulate(self, what: EventPayload) -> None:
        """Asks everything as if something had happened; nothing of that stays."""
        event = self.event(what)
        supposed = Model([*self.model.events, event], dict(self.model.summaries))
        if isinstance(what, StepEnded):
            supposed.drop_summaries(what.step_id)
        with self.store.timeline.simulation():
            self.store.timeline.simulate(event)
            supposed.check(self.store)
        self.check()

    def event(self, what: EventPayload) -> Event:
        """The next event."""
        found = self.store.identify(self.snapshot)
        before = self.model.head
        seen = None
        if before is not None and before != found and not isinstance(what, Operated):
            seen = Span(before, found, self.working(), self.left())
        return Event(self.store.timeline.next_seq, self.now, found, seen, what)

    def working(self) -> tuple[str, ...]:
        """The open steps, but for those that are gone, in which no other of them is open."""
        return tuple(step for step in self.open_steps() if step not in self.gone and not self.is_around_others(step))

    def left(self) -> tuple[str, ...]:
        """The open steps that are gone, but for those in which one is at work."""
        return tuple(step for step in self.open_steps() if step in self.gone and not self.is_around_others(step))

    def open_steps(self) -> list[str]:
        return [step.step_id for step in self.model.steps().values() if step.state == "open"]

    def is_around_others(self, step: str) -> bool:
        """Whether a step that is open and not gone is a part of it, or of an open part of it."""
        parts = [other for other in self.open_steps() if self.model.steps()[other].begun.parent == step]
        return any(part not in self.gone or self.is_around_others(part) for part in parts)

    def start(self, session: str, agent: str | None = None, title: str | None = None) -> Event:
        return self.tell(SessionStarted(session, agent, title))

    def end_session(self, session: str) -> Event:
        return self.tell(SessionEnded(session))

    def begin(self, session: str, step: str, parent: str | None = None) -> Event:
        index = self.model.sessions()[session].step_count
        return self.tell(StepBegun(step, session, index, parent, "message", None, "edit", "é\nline"))

    def leave(self, *steps: str) -> Event:
        """The client of some steps is gone."""
        event = self.tell(StepsLeft(steps))
        self.gone |= set(steps)
        return event

    def end(
        self,
        step: str,
        claims: tuple[bytes, ...] | None = None,
        *,
        changed: bool = True,
        spoken_for: bool = True,
    ) -> Event:
        return self.tell(StepEnded(step, claims, changed, spoken_for))

    def operate(
        self,
        name: str,
        session: str | None,
        turned: dict[str, bool],
        undoes: str | None = None,
        root: str | None = None,
        *,
        older: bool = False,
        rest: bool = False,
        other: str | None = None,
    ) -> Event:
        """An operation.

        Args:
            name: of it.
            session: what it is about.
            turned: steps, and whether they are undone now.
            undoes: another operation.
            root: the step that was named.
            older: whether an older snapd tells it, which turned a step as a whole.
            rest: whether something of each step is left as it was.
            other: an operation that it takes back, or does again if it was taken back.
        """
        before = self.store.identify(self.snapshot)
        self.edit()
        merged = self.blob(b"merged by %s\n" % name.encode())
        effects = (
            Effect(b"a.txt", None, Entry(REGULAR, merged)),
            Effect(b'raw \xff\n"', Entry(REGULAR, merged), None),
        )
        turns: list[Reversal] = []
        for step, undone in turned.items():
            made = Reversal(step, "undone" if undone else "applied", effects, (b"made",), (b"gone\xfe",))
            taken = [one for one, _ in self.model.taken_back() if one.name == step]
            if older:
                turns.append(made if not rest else Reversal(step, made.state, ()))
            elif undone:
                left = (b"left\xff",) if rest else ()
                turns.append(attrs.evolve(made, left=left, state="partly" if rest else "undone", moved=((b"n", b"o"),)))
            for each in reversed(taken) if not older and not undone else ():
                partly = rest or each != taken[0]
                state: Literal["applied", "partly"] = "partly" if partly else "applied"
                turns.append(attrs.evolve(made, again=each.operation_id, rest=(b"a.txt",) if rest else (), state=state))
        if other is not None:
            made = Reversal(
                None, "partly" if rest else "undone", effects, left=(b"left",) if rest else (), operation_id=other
            )
            taken = [one for one, _ in self.model.taken_back() if one.name == other]
            if taken:
                made = attrs.evolve(made, left=None, again=taken[-1].operation_id, state="partly")
                made = made if rest or len(taken) > 1 else attrs.evolve(made, state="applied")
                made = attrs.evolve(made, rest=(b"a.txt",) if rest else ())
            turns.append(made)
        kind = "undo" if session is not None or other is not None else "restore"
        return self.tell(Operated(name, kind, session, before, tuple(turns), undoes, "message", "part", root))

    def summarize(self, step: str) -> None:
        """Keeps a summary."""
        summary = Summary((FileSummary(b"a\xff", "modified", 2, 1, False, ("other",)),), self._number)
        self.store.timeline.keep_summary(step, summary, self.store.timeline.next_seq - 1)
        assert self.store.timeline.step(step) == self.model.steps()[step]
        self.store.timeline.keep_summary(step, summary, self.store.timeline.next_seq)
        self.model.summaries[step] = summary

    # -- the process

    def check(self, *, again: bool = False) -> None:
        """Compares the store with the model, perhaps again once it was reopened."""
        self.model.check(self.store)
        if again:
            self.reopen()
            self.model.check(self.store)

    def reopen(self) -> None:
        """Closes the store and opens it again."""
        self.store.close()
        self.store = Store(str(self.path), None)

    def kill(self) -> None:
        """Ends its process without a close; summaries may be lost."""
        self.store.ownership.release()
        database = self.store.timeline.database
        if database is not None:
            # what was not written yet is lost
            database.connection.close()
        self.opened()
        # what waited to be stored with the next event is gone with the process; the files are not
        self.snapshot = self.stored(self.snapshot.coverage)

    def closed(self) -> Path:
        """Closes the store; gives its database, for something to be done to it before `opened`."""
        self.store.close()
        return self.database

    def opened(self) -> None:
        """Opens the store again; summaries may be lost, or old."""
        self.store = Store(str(self.path), None)
        kept = {step: self.store.timeline.summary(step) for step in self.model.steps()}
        self.model.summaries = {step: summary for step, summary in kept.items() if summary is not None}

    def keep_copy(self, where: Path) -> None:
        """Copies the database and its seal, as they are after a close."""
        where.mkdir(exist_ok=True)
        for path in self.path.glob("timeline.db*"):
            shutil.copy2(path, where)

    def git(self, *args: str) -> bytes:
        """Runs git on the store."""
        return run_git(self.path, "--git-dir=.", *args)
