"""What must hold after something went wrong: files, snapshots, timeline, and nothing left behind."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from snapd.model.call import Call
from tests.support import workspace
from tests.support.git import run_git
from tests.support.processes import descriptors
from tests.support.workspace import Items

from .forks import Say
from .scenarios import SESSION, Act, Scenario, bench_at

_ASIDE = re.compile(r"(^|/)\.snapd-(tmp|kept)-[0-9a-f]+$")
_LEFTOVER = re.compile(r"(^|/)(tmp_[^/]*|[^/]*\.tmp|[^/]+\.lock|packing(/.*)?|journal/[^/]+)$")


class Broken(AssertionError):
    """Something does not hold."""


def holds(right: bool, what: str) -> None:
    if not right:
        raise Broken(what)


def shown(items: Items, expected: Items) -> str:
    names = {*items, *expected}
    return ", ".join(sorted(f"{name}" for name in names if items.get(name, 0) != expected.get(name, 0)))


def same(found: Items, expected: Items, what: str) -> None:
    holds(dict(found) == dict(expected), f"{what}: {shown(found, expected)}")


def mixed(found: Items, states: Iterable[Items], what: str) -> None:
    """Each file is as in one of the states: none is half of anything."""
    known = list(states)
    for name, item in found.items():
        if _ASIDE.search(name):
            continue
        # a directory may have been emptied, or made, on the way
        empty = name.endswith("/") and any(other.startswith(name) for state in known for other in state)
        holds(empty or any(name in state and state[name] == item for state in known), f"{what}: {name}")
    for name in set.intersection(*(set(state) for state in known)):
        # a file of all of them was there all the time
        item_is_directory = name.endswith("/")
        holds(item_is_directory or name in found, f"{what}: {name} is gone")


def kept(found: Items, states: Iterable[Items], what: str) -> None:
    """What is in all of the states, under whatever names, is there under some name."""
    for item in set.intersection(*(set(state.values()) for state in states)):
        holds(item is None or item in found.values(), f"{what}: {item!r} is under no name")


def leftovers(folder: Path) -> list[str]:
    """What an operation has aside while it works, in the store and in the folder."""
    found = []
    for place, pattern in ((folder / "data", _LEFTOVER), (folder / "work", _ASIDE)):
        for above, _, files in os.walk(place):
            if "/.git/" in f"{above}/":
                continue
            for name in files:
                path = os.path.relpath(os.path.join(above, name), place)
                inside = path.split("/", 3)[-1] if place.name == "data" else path
                if pattern.search(inside):
                    found.append(path)
    return found


def forget() -> None:
    """Lets go of what tests keep of workspaces that are closed."""
    workspace.open_benches.clear()
    gc.collect()


class History:
    """What the work said until it ended.

    Attributes:
        acks: the state of each snapshot that was answered, by its hash.
        allowed: the states that the folder may be in: one, or two where something was under way.
        partly: whether it was told that files were left as they were.
        is_old: whether what was answered may have expired, all but the last.
    """

    def __init__(self, scenario: Scenario, said: Iterable[Mapping[str, Any]]) -> None:
        self.acks: dict[str, str] = {}
        self.allowed: list[str] = []
        self.partly = False
        self.undecided = False
        for one in said:
            if "ack" in one:
                self.acks[one["ack"][0]] = one["ack"][1]
            if "folder" in one:
                self.allowed = [one["folder"]]
                self.undecided = False
            if "doing" in one:
                self.allowed = list(one["doing"])
                self.undecided = True
            if "left" in one:
                self.partly = True
            if "gone" in one:
                self.acks = {tree: state for tree, state in self.acks.items() if state != one["gone"]}
        self.states = [scenario.states[name] for name in self.allowed]


def verify(scenario: Scenario, folder: Path, history: History, hashes: Mapping[str, str], say: Say) -> None:
    """Opens the workspace anew, as the next process does, and checks everything.

    Args:
        scenario: what was under way.
        folder: of the bench.
        history: what was said.
        hashes: git's own hash of each state.
        say: gets `broken` where something does not hold.
    """
    bench = bench_at(folder)
    act = Act(bench, scenario.states, hashes, lambda **_: None)
    everything = list(scenario.states.values())
    mixed(bench.read(), everything if history.partly else history.states, "before the recovery")
    if scenario.moves:
        kept(bench.read(), history.states, "before the recovery")
    before = descriptors()
    bench.open()
    tree = bench.track().hex()
    found = bench.read()
    names = [name for name, state in scenario.states.items() if dict(state) == found]
    if scenario.moves:
        kept(found, history.states, "after the recovery")
    if history.partly:
        mixed(found, everything, "after the recovery")
    else:
        holds(bool(set(names) & set(history.allowed)), f"the folder is none of {history.allowed}, but {names}")
    if names:
        holds(tree == hashes[names[0]], f"the snapshot of {names[0]} has another hash than git's")
    _check_timeline(act, scenario, tree, names, history)
    for known, state in history.acks.items():
        holds(known == hashes[state], f"the snapshot of {state} was answered with another hash than git's")
        outcome = bench.restore(bytes.fromhex(known))
        holds(outcome.applied, f"{state} was not restored")
        restored = bench.read()
        if history.partly:
            # an empty directory that could not be removed is in the latest snapshot with this tree
            wanted = scenario.states[state]
            restored = {name: item for name, item in restored.items() if item is not None or name in wanted}
        same(restored, scenario.states[state], f"{state}, restored")
    bench.restore(bytes.fromhex(tree))
    same(bench.read(), found, "back again")
    # what was in the way of nothing stays in the way of nothing
    (Path(bench.root) / "afterwards").write_bytes(b"afterwards\n")
    after = bench.track()
    os.unlink(Path(bench.root) / "afterwards")
    bench.restore(bytes.fromhex(tree))
    bench.restore(after)
    same(bench.read(), {**found, "afterwards": b"afterwards\n"}, "afterwards")
    store = bench.store
    scenario.after(act)
    bench.close()
    if leftovers(folder):
        bench.open()
        bench.workspace.upkeep.cleanup(7.0, Call())
        bench.close()
    holds(not leftovers(folder), f"left behind: {leftovers(folder)}")
    report = run_git(store, "--git-dir=.", "fsck", "--strict", "--full", "--no-dangling", "--connectivity-only")
    holds(b"missing" not in report and b"broken" not in report, f"git fsck: {report.decode()}")
    del bench, act
    forget()
    opened = {path for name, path in descriptors().items() if name not in before}
    holds(not opened, f"open still: {opened}")


def _check_timeline(act: Act, scenario: Scenario, tree: str, names: list[str], history: History) -> None:
    timeline = act.bench.workspace.store.timeline
    events = timeline.events(None, 10_000)[::-1]
    numbers = [event.seq for event in events]
    holds(numbers == sorted(set(numbers)), f"events {numbers}")
    # what it says it is, is there: all snapshots that events name can be read
    for event in events:
        if event.head is not None:
            act.bench.workspace.store.load(event.head)
            act.bench.workspace.store.read_tree(event.head.tree)
    if scenario.name in ("restore", "undo", "redo"):
        operated = [event for event in events if type(event.what).__name__ == "Operated"]
        if operated and timeline.head is not None and (scenario.name != "restore" or not history.undecided):
            holds(timeline.head.tree.hex() == tree, "the timeline's head is not what the folder has")
    if scenario.name in ("undo", "redo") and not history.partly:
        states = act.agents.states(SESSION)
        applied = {"first": 0, "second": 1, "large": 2, "many": 3}[names[0]]
        holds(
            states == ["applied"] * applied + ["undone"] * (3 - applied),
            f"the folder is {names[0]}, and the steps are {states}",
        )
        if applied:
            act.agents.undone(SESSION, 9)
        same(act.bench.read(), scenario.states["first"], "all undone")
        act.agents.redone(SESSION, 9)
        same(act.bench.read(), scenario.states["many"], "all redone")
        if applied < 3:
            act.agents.undone(SESSION, 3 - applied)
        same(act.bench.read(), scenario.states[names[0]], "as it was found")
    if scenario.name == "steps":
        for step in act.agents.steps(SESSION) if SESSION in {s.session_id for s in timeline.sessions()} else ():
            for snapshot in (step.step.from_, step.step.to):
                holds(snapshot is None or act.bench.workspace.store.knows(snapshot.tree), "a step's snapshot is gone")
