"""`python -m tests.real_agents`: see `make agents`. Says what passed and what failed, and how long it took."""

from __future__ import annotations

import argparse
import concurrent.futures
import os
import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import attrs

from .agents.agent import Agent
from .agents.table import AGENTS
from .install import NotInstalled, cache_folder, install
from .model.server import running
from .network import NoNamespace, leave_network
from .place import Failed, new_place
from .play import Play
from .scenarios.scenario import Scenario
from .scenarios.table import SCENARIOS

_MOST_AT_ONCE = 4
"""Runs: each takes up to half a gigabyte."""
_Named = TypeVar("_Named")


@attrs.frozen
class Run:
    """A scenario with an agent, whose program is known."""

    agent: Agent
    program: Path
    scenario: Scenario

    @property
    def name(self) -> str:
        return f"{self.agent.name} {self.scenario.name}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.real_agents", description=__doc__)
    parser.add_argument(
        "only", nargs="*", choices=[[], *AGENTS, *SCENARIOS], help="some agents, some scenarios (default: all)"
    )
    parser.add_argument(
        "--cache", type=Path, default=cache_folder(), help="where agents are installed (default: %(default)s)"
    )
    options = parser.parse_args()
    begun = time.monotonic()
    failed = 0
    runs = []
    for agent in chosen(AGENTS, options.only):
        try:
            program = install(agent, options.cache.resolve()) / agent.program
        except NotInstalled as error:
            failed += 1
            print(f"FAIL {agent.name} is not installed: {error}")
            continue
        runs += [Run(agent, program, each) for each in chosen(SCENARIOS, options.only) if each.needs <= agent.abilities]
    try:
        leave_network()
        print("the agents have loopback alone")
    except NoNamespace as error:
        print(f"the agents have the network of this machine: no namespace of their own ({error})")
    installed = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(min(os.cpu_count() or 1, _MOST_AT_ONCE)) as pool:
        failed += sum(pool.map(play, runs))
    now = time.monotonic()
    print(f"{len(runs)} runs, {failed} failed; {installed - begun:.0f} s to install, {now - installed:.0f} s to run")
    return 1 if failed else 0


def chosen(table: Mapping[str, _Named], only: list[str]) -> list[_Named]:
    """What is named of a table, or all of it where nothing is."""
    return [table[name] for name in table if name in only] or [*table.values()]


def play(run: Run) -> bool:
    """Plays one, and says how it went; gives whether it failed."""
    begun = time.monotonic()
    problem = ""
    try:
        with running() as model, new_place() as place:
            try:
                scenario = run.scenario
                is_installed = scenario.way == "hooks"
                place.settle(run.agent, run.program, model.url, installed=is_installed, has_tools=scenario.has_tools)
                play = Play(run.agent, model, place, run.scenario.way)
                for act in run.scenario.acts:
                    play.act(act)
            except Failed as error:
                raise Failed(f"{error}\n{place.above} is kept") from None
    except Failed as error:
        problem = f"\n{error}"
    except Exception:
        # a defect of the harness must not end the other runs
        problem = f"\n{traceback.format_exc()}"
    print(f"{'FAIL' if problem else 'ok  '} {time.monotonic() - begun:5.1f} s  {run.name}{problem}", flush=True)
    return bool(problem)


if __name__ == "__main__":
    sys.exit(main())
