"""Plays a scenario with a product, and judges what comes of it."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re
import subprocess
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from .oracle import Difference, Tree, compare, copy_tree, tokens, wanted
from .place import LIMIT, NoRoom, Place, new_place, wait_until_still
from .products.disk import Disk
from .products.product import Gate, Hung, NotOffered, Product, Refused, wait_until
from .scenario import Act, Expect, Person, Redo, Restart, Scenario, Turn, Undo

Verdict: TypeAlias = Literal["right", "wrong", "lost", "refused", "not offered", "not run"]
_CHANGING = re.compile(
    r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|(\b|(?<=_))[0-9a-f]{6,64}\b|\b\d\d:\d\d\b|\d{4}-\d\d-\d\dT[\d_:-]+Z"
)
"""Ids, times and hashes."""


@dataclass(frozen=True)
class Result:
    """How one scenario went with one product.

    Attributes:
        why: what was wrong or lost, or the product's words.
        seconds: that all undos and redos took.
        turn_seconds: that the turns took, without what the person did meanwhile.
        disk: bytes that the product keeps for the undo.
        excluded: the page that excludes this, or empty.
    """

    scenario: str
    product: str
    verdict: Verdict
    why: str = ""
    seconds: float = 0.0
    turn_seconds: float = 0.0
    disk: int = 0
    excluded: str = ""


class NotDone(Exception):
    """The agent did not do in a turn what the scenario says: then nothing can be said of the undo."""


class _Reference(Disk):
    """Does the turns, to see what must have come of them."""

    name = "reference"

    def undo(self, undo: Undo) -> None:
        raise NotOffered("an undo")


@functools.cache
def _references(scenario: Scenario) -> dict[str, Tree]:
    """The folder after each turn that comes before the first undo and is not cut short."""
    acts = [*itertools.takewhile(lambda act: not isinstance(act, Undo), scenario.acts)]
    with new_place(scenario) as place:
        play = _Play(dataclasses.replace(scenario, acts=tuple(acts)), _Reference(place, scenario), place)
        play.all()
    killed = {f"turn{act.number}" for act in acts if isinstance(act, Turn) and act.killed}
    return {name: tree for name, tree in play.turns.items() if name not in killed}


class _Ended(Exception):
    def __init__(self, verdict: Verdict, why: str) -> None:
        super().__init__(why)
        self.verdict = verdict
        self.why = why


def play(scenario: Scenario, kind: type[Product], keep: Path | None = None) -> Result:
    """Plays a scenario, in a place of its own.

    Args:
        scenario: to play.
        kind: of the product.
        keep: where to copy the place to where the result is not right.
    """
    excluded = [kind.excluded[tag] for tag in sorted(scenario.tags) if tag in kind.excluded]
    base = Result(scenario.name, kind.name, "right", excluded=excluded[0] if excluded else "")
    try:
        with new_place(scenario) as place:
            play = _Play(scenario, kind(place, scenario), place)
            try:
                play.all()
            except _Ended as ended:
                base = dataclasses.replace(base, verdict=ended.verdict, why=_plain(ended.why, place))
                if keep is not None:
                    target = keep / f"{kind.name}-{scenario.name}"
                    subprocess.run(["cp", "-a", str(place.above), str(target)], check=False, capture_output=True)
            return dataclasses.replace(
                base,
                excluded=base.excluded if base.verdict != "right" else "",
                seconds=round(play.seconds, 2),
                turn_seconds=round(play.turn_seconds, 2),
                disk=play.disk,
            )
    except NoRoom as error:
        return dataclasses.replace(base, verdict="not run", why=str(error))


def _plain(text: str, place: Place) -> str:
    """A text without what is another in each run."""
    text = text.replace(str(place.project), "PROJECT").replace(str(place.above), "PLACE")
    return _CHANGING.sub("…", " ".join(text.split()))[:300]


class _Play:
    def __init__(self, scenario: Scenario, product: Product, place: Place) -> None:
        self.seconds = self.turn_seconds = 0.0
        self.disk = 0
        self._scenario = scenario
        self._product = product
        self._place = place
        self.trees: dict[str, Tree] = {}
        self._refused = ""
        self._turn = ""
        self.turns: dict[str, Tree] = {}
        self._undone: list[list[Turn]] = []

    def all(self) -> None:
        """Plays all acts.

        Raises:
            _Ended: it is not right.
        """
        product = self._product
        try:
            try:
                product.open()
                self.trees["start"] = self._copy()
                for act in self._scenario.acts:
                    self._act(act)
                    if not isinstance(act, Undo | Redo | Expect | Restart) and self._turn:
                        self.trees[self._turn] = self._copy()
            finally:
                self.disk = product.disk()
                product.close()
        except NotOffered as error:
            raise _Ended("not offered", str(error)) from None
        except Hung as error:
            raise _Ended("wrong", f"no end in {LIMIT:.0f} s: {str(error).splitlines()[0]}") from None
        except subprocess.TimeoutExpired as error:
            raise _Ended("wrong", f"no end in {LIMIT:.0f} s: {error.cmd[:3]}") from None
        if self._refused:
            raise _Ended("refused", self._refused)

    def _copy(self) -> Tree:
        return copy_tree(self._place.project, self._product.own)

    def _act(self, act: Act) -> None:
        if isinstance(act, Turn):
            self._turn = f"turn{act.number}"
            self._play_turn(act)
        elif isinstance(act, Person):
            self._place.person(act.operations)
        elif isinstance(act, Restart):
            self._product.restart()
        elif isinstance(act, Expect):
            self._check(act)
        else:
            self._take_back(act)

    def _play_turn(self, turn: Turn) -> None:
        gate = Gate(self._place.above / "tmp", turn)
        failed: list[BaseException] = []
        waited = [0.0]

        def meet() -> None:
            try:
                wait_until(gate.reached.exists, f"turn {turn.number} before its pause")
                begun = time.monotonic()
                self._place.person(turn.meanwhile)
                if turn.killed:
                    # an agent may save what its undo needs some time after its work
                    wait_until_still(self._place.written, 1.0)
                    self._product.kill()
                waited[0] = time.monotonic() - begun
            except BaseException as error:
                failed.append(error)
            gate.passed.touch()

        person = threading.Thread(target=meet, daemon=True)
        begun = time.monotonic()
        if turn.meanwhile or turn.killed:
            person.start()
        self._product.turn(turn, gate)
        self._product.done.append(turn)
        if person.ident is not None:
            person.join(LIMIT * 2)
        self.turn_seconds += time.monotonic() - begun - waited[0]
        if failed:
            raise failed[0]
        self.turns[self._turn] = there = self._copy()
        if isinstance(self._product, _Reference):
            return
        reference = _references(self._scenario).get(self._turn)
        if reference is not None:
            git = {path: entry for path, entry in there.items() if entry.kind == "git"}
            wrong = compare(there, {**reference, **git}, {})
            if wrong.problems:
                raise NotDone(f"turn {turn.number}: {'; '.join(wrong.problems)}")

    def _take_back(self, act: Undo | Redo) -> None:
        self.trees["now"] = self._copy()
        begun = time.monotonic()
        try:
            if isinstance(act, Undo):
                self._product.undo(act)
            else:
                self._product.redo(act)
        except Refused as refused:
            self._refused = str(refused) or "(no words)"
        finally:
            self.seconds += time.monotonic() - begun
        if isinstance(act, Undo):
            self._undone.append(self._product.chosen(act))
            self._product.done = [turn for turn in self._product.done if turn not in self._undone[-1]]
        else:
            self._product.done = sorted([*self._product.done, *self._undone.pop()], key=lambda turn: turn.number)

    def _check(self, expected: Expect) -> None:
        now = self.trees["now"]
        git = (now if self._scenario.moves_git else self.trees["start"]).get(b".git")
        there = self._copy()
        scenario = self._scenario
        choices = [expected.paths] if expected.instead is None else [expected.paths, expected.instead]
        found = [
            compare(there, wanted(self.trees[expected.base], paths, git), now, scenario.mtimes, scenario.whole_git)
            for paths in choices
        ]
        changed = bool(compare(there, now, now).problems)
        if any(not wrong.problems and not wrong.lost for wrong in found):
            # what it said of what it left was right
            self._refused = ""
            return
        if self._refused and not changed:
            raise _Ended("refused", self._refused)
        raise _Ended(*self._judge(found[0], f"; says: {self._refused}" if self._refused else ""))

    def _judge(self, wrong: Difference, says: str) -> tuple[Verdict, str]:
        problems = "; ".join(wrong.problems) + says
        if not wrong.lost:
            return "wrong", problems
        lost = f"{', '.join(wrong.lost)}: {problems}"
        # what the product itself brings back is not lost
        try:
            self._product.redo(Redo(self._scenario.sessions[0]))
        except (NotOffered, Refused, Hung, subprocess.TimeoutExpired):
            return "lost", lost
        return ("wrong", f"{lost}; its redo brings that back") if self._is_back(wrong.lost) else ("lost", lost)

    def _is_back(self, lost: Iterable[str]) -> bool:
        there = self._copy()
        known = {token.decode() for token in tokens([there])} | ({".git"} if b".git" in there else set())
        return known.issuperset(lost)
