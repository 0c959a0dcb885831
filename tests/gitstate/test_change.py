"""What of git each step changed, judged by git itself in random histories."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random

import pytest

from tests.support.amounts import amount
from tests.support.sessions import at_work

from .oracle import State, change, git, work


@pytest.mark.parametrize("seed", range(amount(6, 200)))
def test_random_commands(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    agents = at_work(tmp_path, {"a": b"x\n", "b": b"y\n"})
    folder = Path(agents.bench.root)
    agents.start("s")
    states = [State.of(folder)]
    steps = []

    def command(number: int) -> None:
        if number == 0:
            git(folder, "init", "-qb", "main")
        elif number < 3:
            git(folder, "add", "-A")
            git(folder, "commit", "-qm", str(number), "--allow-empty")
        elif number == 3:
            git(folder, "branch", "topic")
        elif number == 30:
            shutil.rmtree(folder / ".git")
        else:
            commands.append(work(folder, random))
        states.append(State.of(folder))

    for number in range(31):
        commands: list[tuple[str, ...]] = []
        steps.append(agents.step("s", lambda number=number: command(number)))
        assert agents.view(steps[-1]).git == change(*states[-2:]), (number, commands)
    # as a restarted snapd sees it, which reads the events again
    agents.bench.workspace.store.timeline.forget()
    for step, before, after in zip(steps, states, states[1:], strict=False):
        assert agents.view(step).git == change(before, after)
