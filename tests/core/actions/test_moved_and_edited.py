"""A folder that a step moved and edited goes back as a whole, with what no snapshot has, or what is left is named."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.failures import killed_at
from tests.support.sessions import TEXT, Agents
from tests.support.workspace import Bench, make

Work = Callable[[Bench], object]

FILES = {
    ".gitignore": b".env\n*.log\n",
    "app/a": b"1\n",
    "app/b": TEXT,
    "app/.env": b"KEY=1\n",
    "app/lib/l": b"l\n",
    "app/lib/.git/HEAD": b"ref: refs/heads/main\n",
    "app/lib/.git/refs/": None,
    "app/empty/": None,
    "kept/k": b"k\n",
}


@pytest.fixture
def agents(tmp_path: Path) -> Agents:
    made = Agents(make(tmp_path, FILES))
    made.start("s")
    made.bench.track()
    return made


def everything(bench: Bench) -> dict[str, bytes | None]:
    found: dict[str, bytes | None] = {}
    for above, directories, names in os.walk(bench.root):
        found |= {os.path.relpath(os.path.join(above, name), bench.root): None for name in directories}
        found |= {os.path.relpath(p, bench.root): Path(p).read_bytes() for p in (os.path.join(above, n) for n in names)}
    return found


def edited(bench: Bench, place: str) -> None:
    os.makedirs(os.path.dirname(bench.path(place)) or ".", exist_ok=True)
    os.rename(bench.path("app"), bench.path(place))
    bench.write({f"{place}/a": b"2\n"})


def much(bench: Bench) -> None:
    edited(bench, "web")
    bench.write({"web/lib/l": b"another\n", "web/new": b"n\n", "web/sub/deep/n": b"n\n", "web/made/": None})
    bench.remove("web/b")
    os.rmdir(bench.path("web/empty"))


def twice(bench: Bench) -> None:
    edited(bench, "web")
    bench.track()
    os.rename(bench.path("web"), bench.path("site"))
    bench.write({"site/lib/l": b"another\n"})


def inner(bench: Bench) -> None:
    os.rename(bench.path("app/lib"), bench.path("app/library"))
    bench.write({"app/library/l": b"another\n", "app/a": b"2\n"})


WORK: dict[str, Work] = {
    "one file edited": lambda bench: edited(bench, "web"),
    "into a new folder": lambda bench: edited(bench, "packages/web"),
    "into a folder": lambda bench: edited(bench, "kept/web"),
    "edited, made and deleted": much,
    "moved twice": twice,
    "a folder in it": inner,
}


@pytest.mark.parametrize("name", WORK)
@pytest.mark.parametrize("how", ["undo", "restore"])
def test_it_goes_back_as_a_whole(agents: Agents, name: str, how: str) -> None:
    bench = agents.bench
    before, tree = everything(bench), bench.track()
    step = agents.step("s", lambda: WORK[name](bench))
    after = everything(bench)
    assert not agents.view(step).uncaptured
    if how == "restore":
        bench.restore(tree)
        assert everything(bench) == before
        return
    said = agents.undo("s", dry_run=True)
    assert everything(bench) == after
    bench.reopen()
    assert agents.undo("s") == said
    assert everything(bench) == before
    assert not any(word.startswith(("kept", "conflict")) for word in said.values())
    agents.redo("s")
    assert everything(bench) == after
    agents.undo("s")
    assert everything(bench) == before


@pytest.mark.parametrize("name", ["one file edited", "edited, made and deleted"])
@pytest.mark.parametrize(
    "point", ["writer.apply", "apply.commit", "apply.directory_moved", "apply.delete", "apply.move", "writer.conclude"]
)
def test_it_is_finished_after_a_kill(agents: Agents, name: str, point: str) -> None:
    bench = agents.bench
    before = everything(bench)
    agents.step("s", lambda: WORK[name](bench))
    if point == "apply.delete" and name == "one file edited":
        return
    with killed_at(point):
        agents.undo("s")
    bench.reopen()
    bench.track()
    assert everything(bench) == before
    assert agents.states("s") == ["undone"]


def test_what_is_left_is_named(agents: Agents) -> None:
    bench = agents.bench
    agents.step("s", lambda: edited(bench, "web"))
    bench.write({"app/.env": b"another\n"})
    said = agents.undo("s")
    assert said["web"] == "kept:directoryNotEmpty"
    there = everything(bench)
    assert (there["app/a"], there["app/.env"], there["web/.env"]) == (b"1\n", b"another\n", b"KEY=1\n")


def test_a_folder_with_the_users_own_file_is_named(agents: Agents) -> None:
    bench = agents.bench
    agents.step("s", lambda: edited(bench, "web"))
    bench.write({"web/mine": b"mine\n"})
    said = agents.undo("s")
    assert said["web"] == "kept:directoryNotEmpty"
    assert everything(bench)["web/mine"] == b"mine\n"
    assert everything(bench)["web/.env"] == b"KEY=1\n"


def test_another_folder_of_that_name_is_not_it(agents: Agents) -> None:
    bench = agents.bench

    def replaced() -> None:
        shutil.rmtree(bench.path("app"))
        bench.write({"app/a": b"1\n", "app/other": b"o\n"})

    before = {name: data for name, data in everything(bench).items() if ".git/" not in name}
    step = agents.step("s", replaced)
    assert [os.fsdecode(change.path) for change in agents.view(step).uncaptured] == ["app/.env"]
    agents.undo("s")
    assert everything(bench).items() <= before.items()
