"""The timeline as a list of events: what the store must answer, found by reading all of it again each time."""

from __future__ import annotations

import itertools

import attrs

from snapd.model.timeline import (
    Event,
    Operated,
    Reversal,
    Session,
    SessionEnded,
    SessionStarted,
    SnapshotId,
    Span,
    Step,
    StepBegun,
    StepEnded,
    Summary,
    UndoneShare,
)
from snapd.store.store import Store


@attrs.define
class Model:
    """What was told.

    Attributes:
        events: in their order.
        summaries: of steps.
    """

    events: list[Event] = attrs.field(factory=list)
    summaries: dict[str, Summary] = attrs.field(factory=dict)

    @property
    def head(self) -> SnapshotId | None:
        return self.events[-1].head if self.events else None

    @property
    def next_seq(self) -> int:
        return self.events[-1].seq + 1 if self.events else 1

    def sessions(self) -> dict[str, Session]:
        found: dict[str, Session] = {}
        for event in self.events:
            what = event.what
            if isinstance(what, SessionStarted):
                old = found.get(what.session_id)
                found[what.session_id] = (
                    Session(what.session_id, what.agent, what.title, event.milliseconds, None, 0)
                    if old is None
                    else attrs.evolve(
                        old,
                        ended=None,
                        agent=old.agent if what.agent is None else what.agent,
                        title=old.title if what.title is None else what.title,
                    )
                )
            elif isinstance(what, SessionEnded):
                found[what.session_id] = attrs.evolve(found[what.session_id], ended=event.milliseconds)
            elif isinstance(what, StepBegun):
                old = found[what.session_id]
                found[what.session_id] = attrs.evolve(old, step_count=old.step_count + 1)
        return found

    def steps(self) -> dict[str, Step]:
        found: dict[str, Step] = {}
        for event in self.events:
            what = event.what
            if isinstance(what, StepBegun):
                assert event.head is not None
                found[what.step_id] = Step(
                    begun=what,
                    started=event.milliseconds,
                    ended=None,
                    from_=event.head,
                    to=None,
                    state="open",
                    claims=None,
                )
            elif isinstance(what, StepEnded):
                found[what.step_id] = attrs.evolve(
                    found[what.step_id],
                    ended=event.milliseconds,
                    to=event.head if what.spoken_for else self.left_with(what.step_id, event),
                    state="applied",
                    claims=what.claims,
                )
            elif isinstance(what, Operated):
                for turned in what.turned:
                    if turned.step_id is not None and not is_void(turned):
                        found[turned.name] = attrs.evolve(found[turned.name], state=turned.state)
        return found

    def operations(self) -> dict[str, Operated]:
        return {event.what.operation_id: event.what for event in self.events if isinstance(event.what, Operated)}

    def left_with(self, step_id: str, ended: Event) -> SnapshotId | None:
        """What was there when the client of a step went; where it did not, when the step ended."""
        for event in self.events:
            if event.seen is not None and step_id in event.seen.left:
                return event.seen.before
        return ended.head

    def as_seen(self, event: Event, speaking: str | None = None) -> Event:
        """An event with the steps that it counts for by now."""
        if event.seen is None:
            return event
        ends = [other.what for other in self.events if isinstance(other.what, StepEnded)]
        heard = {end.step_id for end in ends if end.spoken_for} | {speaking}
        parents = {begun.what.step_id: begun.what.parent for begun in self.events if isinstance(begun.what, StepBegun)}
        joined = [step for step in event.seen.left if step in heard]
        around = set()
        for step in joined:
            # the way up ends at a step that was not open
            above = parents[step]
            while above is not None and above in (*event.seen.steps, *event.seen.left):
                around.add(above)
                above = parents[above]
        steps = tuple(step for step in (*event.seen.steps, *joined) if step not in around)
        return attrs.evolve(event, seen=attrs.evolve(event.seen, steps=steps))

    def spans(self, step_id: str, speaking: str | None = None) -> list[Span]:
        seen = [self.as_seen(event, speaking).seen for event in self.events]
        raw = [event.seen for event in self.events]
        return [
            span
            for span, told in zip(seen, raw, strict=True)
            if span is not None
            and told is not None
            and (step_id in told.steps or (step_id in told.left and (step_id in span.steps or self.heard(step_id))))
        ]

    def heard(self, step_id: str) -> bool:
        """Whether somebody spoke for a step."""
        return any(
            isinstance(event.what, StepEnded) and event.what.step_id == step_id and event.what.spoken_for
            for event in self.events
        )

    def beside(self, step_id: str) -> list[str]:
        """The other steps of spans that a step is in, left or not."""
        spans = [event.seen for event in self.events if event.seen is not None]
        groups = [(*span.steps, *span.left) for span in spans if step_id in (*span.steps, *span.left)]
        return [other for other in dict.fromkeys(itertools.chain.from_iterable(groups)) if other != step_id]

    def taken_back(self) -> list[tuple[UndoneShare, bool]]:
        """What was taken back and not done again, in the order of time; and whether it can be done again."""
        found: list[tuple[UndoneShare, bool]] = []
        session_of: dict[str, str] = {}
        for event in self.events:
            what = event.what
            if isinstance(what, StepBegun):
                session_of[what.step_id] = what.session_id
            elif isinstance(what, StepEnded) and what.changed:
                session = session_of[what.step_id]
                found = [(one, can and session_of.get(one.name, session) != session) for one, can in found]
            elif isinstance(what, Operated):
                if what.is_own:
                    found = [(one, can and one.name in session_of) for one, can in found]
                for turned in what.turned:
                    if turned.again is not None:
                        at = next(at for at, (one, _) in enumerate(found)
                                  if (one.name, one.operation_id) == (turned.name, turned.again))  # fmt: skip
                        one, can = found.pop(at)
                        if turned.rest:
                            found.insert(at, (attrs.evolve(one, rest=turned.rest), can))
                        continue
                    if is_void(turned):
                        continue
                    if turned.left is None:
                        found = [(one, can) for one, can in found if one.name != turned.name]
                    if turned.state != "applied":
                        found.append((UndoneShare(turned.name, what.operation_id), True))
        return found

    def states(self) -> dict[str, str]:
        """The state of each operation that can be taken back."""
        found: dict[str, str] = {}
        for what in self.operations().values():
            if what.kind in ("restore", "revert", "hunks") and not what.turned:
                found[what.operation_id] = "applied"
            for turned in what.turned:
                if turned.operation_id is not None:
                    found[turned.operation_id] = turned.state
        return found

    def last_change(self, step_id: str) -> int:
        """The number of the last event that found a change of a step; 0 if there is none."""
        heard = self.heard(step_id)
        seen = [(event.seq, event.seen) for event in self.events if event.seen is not None]
        return max((seq for seq, span in seen if step_id in span.steps or (heard and step_id in span.left)), default=0)

    def redoable(self, session_id: str) -> list[UndoneShare]:
        steps = self.steps()
        taken = [one for one, can in reversed(self.taken_back()) if can and one.name in steps]
        return [one for one in taken if steps[one.name].begun.session_id == session_id]

    def drop_summaries(self, step_id: str) -> None:
        """A step ended: of it, and of those that were open beside it, they may be wrong."""
        for other in (step_id, *self.beside(step_id)):
            self.summaries.pop(other, None)

    def check(self, store: Store, *, summaries: bool = True) -> None:
        """Each question has the right answer.

        Args:
            store: that was told.
            summaries: whether those that were kept have to be there.
        """
        timeline = store.timeline

        assert timeline.head == self.head
        assert timeline.next_seq == self.next_seq
        sessions = self.sessions()
        steps = self.steps()
        assert timeline.sessions() == tuple(sessions.values())
        assert list(timeline.open_steps()) == [step for step in steps.values() if step.state == "open"]
        for session_id, session in sessions.items():
            assert timeline.session(session_id) == session
            own = [step for step in steps.values() if step.begun.session_id == session_id]
            assert list(timeline.steps(session_id)) == own
            assert list(timeline.redoable(session_id)) == self.redoable(session_id)
            tally = timeline.tally(session_id)
            assert tally.redoable == len({one.name for one in self.redoable(session_id)})
            if summaries:
                applied = [step for step in own if step.state in ("applied", "partly")]
                assert tally.unknown == tuple(step for step in applied if step.step_id not in self.summaries)
                known = [self.summaries[step.step_id] for step in applied if step.step_id in self.summaries]
                assert tally.undoable == sum(not summary.is_empty for summary in known)
        for step_id, step in steps.items():
            assert timeline.step(step_id) == step
            if summaries:
                assert timeline.summary(step_id) == self.summaries.get(step_id)
            spans = self.spans(step_id)
            assert timeline.spans(step_id) == tuple(spans)
            assert timeline.spans(step_id, spoken_for=True) == tuple(self.spans(step_id, step_id))
            assert timeline.beside(step_id) == tuple(self.beside(step_id))
            assert timeline.undone(step_id) == tuple(one for one, _ in self.taken_back() if one.name == step_id)
            parts = [part for part in steps.values() if part.begun.parent == step_id]
            assert list(timeline.parts(step_id)) == parts
        assert list(timeline.redoable(None)) == [one for one, can in reversed(self.taken_back()) if can]
        states = self.states()
        for operation_id, operation in self.operations().items():
            assert timeline.operation(operation_id) == operation
            unit = timeline.unit(operation_id)
            taken = tuple(one for one, _ in self.taken_back() if one.name == operation_id)
            assert timeline.undone(operation_id) == taken
            assert (None if unit is None else unit.state) == states.get(operation_id)
            assert unit is None or unit.to == next(event.head for event in self.events if event.what == operation)
        changed = {name: self.last_change(name) for name, step in self.steps().items() if step.state != "undone"}
        seqs = {event.what.operation_id: event.seq for event in self.events if isinstance(event.what, Operated)}
        changed |= {name: seqs[name] for name, state in states.items() if state != "undone"}
        begun = {event.what.step_id: event.seq for event in self.events if isinstance(event.what, StepBegun)} | seqs
        dropped = {name for name, summary in self.summaries.items() if summaries and summary.is_empty}
        expected = [name for name, seq in changed.items() if seq and name not in dropped]
        if summaries:
            assert timeline.in_force() == tuple(sorted(expected, key=lambda it: (-changed[it], -begun[it])))
        for nothing in (timeline.session("none"), timeline.step("none"), timeline.operation("none")):
            assert nothing is None
        newest = [self.as_seen(event) for event in reversed(self.events)]
        assert timeline.events(None, 1000) == tuple(newest)
        if newest:
            middle = newest[len(newest) // 2].seq
            assert timeline.events(middle, 3) == tuple([event for event in newest if event.seq < middle][:3])


def is_void(turned: Reversal) -> bool:
    """Whether an older snapd called a step undone of which it took back nothing."""
    anything = turned.effects or turned.made_directories or turned.removed_directories
    return turned.left is None and turned.again is None and turned.state == "undone" and not anything
