"""Random work that is handed from machine to machine: nothing is lost, and all of them tell the same story."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from snapd.model.call import Call
from snapd.model.errors import NothingToRedo, NothingToUndo
from tests.remotes.machines import bare
from tests.sharing.test_handover import blamed, hand_over, pending, take_over
from tests.sharing.test_projection import told
from tests.support.git import run_git
from tests.support.sessions import Agents
from tests.support.workspace import make, read

FILES = ("a.txt", "b.txt", "dir/c.txt")


def numbered(lines: dict[int, bytes]) -> bytes:
    return b"".join(lines.get(line, b"%d" % line) + b"\n" for line in range(100))


class Model:
    """What the folder has, whoever holds it."""

    def __init__(self) -> None:
        self.files: dict[str, dict[int, bytes]] = {name: {} for name in FILES}
        self.step: dict[str, tuple[str, int, bytes]] = {}

    def expected(self) -> dict[str, bytes]:
        return {name: numbered(lines) for name, lines in self.files.items()}


def work(agents: Agents, model: Model, random: Random, at: int) -> None:
    """A step, an edit of the person, or an undo: each step has a line of its own, so nothing conflicts."""
    what = random.choice(["step", "step", "typed", "undo", "redo"])
    session = random.choice(["one", "two"])
    name, line = random.choice(FILES), at
    if what in ("step", "typed"):
        model.files[name][line] = b"line %d" % at
        items = {name: numbered(model.files[name])}
        if what == "typed":
            agents.bench.write(items)
        else:
            model.step[agents.step(session, items)] = (name, line, b"line %d" % at)
    elif what == "undo":
        applied = [view.step.step_id for view in agents.steps(session) if view.step.state == "applied"]
        if applied:
            step = random.choice(applied)
            name, line, _ = model.step[step]
            agents.undo(session, step=step)
            del model.files[name][line]
    else:
        try:
            agents.redo(session)
        except (NothingToRedo, NothingToUndo):
            return
        for view in agents.steps(session):
            name, line, new = model.step[view.step.step_id]
            if view.step.state == "applied":
                model.files[name][line] = new


@pytest.mark.parametrize("seed", range(6))
def test_the_story_stays_the_same(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    remote = str(bare(tmp_path / "remote"))
    model = Model()
    start = model.expected()
    machines = [Agents(make(tmp_path / f"m{number}", start, git=True)) for number in range(3)]
    run_git(machines[0].bench.root, "add", ".")
    run_git(machines[0].bench.root, "commit", "--quiet", "--message=one")
    for other in machines[1:]:
        run_git(other.bench.root, "fetch", "--quiet", str(machines[0].bench.root), "HEAD")
        run_git(other.bench.root, "reset", "--quiet", "FETCH_HEAD")
    holder = machines[0]
    for session in ("one", "two"):
        holder.start(session)
    line = 0
    for handover in range(5):
        for _ in range(random.randrange(1, 6)):
            work(holder, model, random, line)
            line += 4
        assert read(holder.bench.root) == model.expected()
        name = f"h{handover}"
        hand_over(holder, remote, name)
        following = random.choice([machine for machine in machines if machine is not holder])
        take_over(following, remote, name)
        assert read(following.bench.root) == model.expected()
        for session in ("one", "two"):
            assert says(following, session) == says(holder, session)
        assert pending(following) == pending(holder)
        for file in FILES:
            assert blamed(following, file) == blamed(holder, file)
        holder = following
        if random.random() < 0.3:
            holder.bench.reopen()
    assert run_git(Path(remote), "fsck", "--strict", "--no-dangling") == b""
    for machine in machines:
        assert machine.bench.workspace.upkeep.check(Call(), quick=False).problems == ()


def says(agents: Agents, session: str) -> object:
    workspace = agents.bench.workspace
    return told(workspace.store.timeline, workspace.step_changes, session)
