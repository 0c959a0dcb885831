"""What no snapshot has is never deleted: a step that moved it is undone by a rename, or it stays, and is named."""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from snapd.model.call import Call
from snapd.model.snapshot import DriftQuery
from tests.support.failures import killed_at
from tests.support.sessions import Agents
from tests.support.workspace import Bench, make, outcomes

OVER = "over a captured file"
CUT = "a large file that is cut afterwards"
LIMIT = 10_000
Work = Callable[[Bench], object]

FILES = {
    ".gitignore": b".env\nbuild/\n",
    ".snapd.toml": b'exclude = ["private"]\n',
    "a.txt": b"a\n",
    ".env": b"KEY=1\n",
    "private": b"mine\n",
    "build/out": b"made\n",
    "build/empty/": None,
    "lib/code": b"l\n",
    "lib/.git/HEAD": b"ref: refs/heads/main\n",
    "lib/.git/refs/heads/": None,
    "lib/.git/objects/info/": None,
}


@pytest.fixture
def agents(tmp_path: Path) -> Agents:
    bench = make(tmp_path, FILES, git=True)
    bench.configure(max_file_size=LIMIT)
    bench.write({"large.bin": bytes(LIMIT + 1)})
    for path in (bench.path(".git/HEAD"), bench.path(".git/config")):
        os.chmod(path, 0o640)
    made = Agents(bench)
    made.start("s")
    bench.track()
    return made


def everything(bench: Bench) -> dict[str, tuple[int, bytes | None]]:
    """All that is there, `.git` and empty directories included, with its permissions."""
    found: dict[str, tuple[int, bytes | None]] = {}
    for above, directories, names in os.walk(bench.root):
        for name in (*directories, *names):
            path = os.path.join(above, name)
            data = Path(path).read_bytes() if name in names else None
            found[os.path.relpath(path, bench.root)] = (stat.S_IMODE(os.lstat(path).st_mode), data)
    return found


def move(old: str, new: str) -> Work:
    return lambda bench: os.rename(bench.path(old), bench.path(new))


def both(*works: Work) -> Work:
    return lambda bench: [work(bench) for work in works]


def linked(bench: Bench) -> None:
    os.link(bench.path(".env"), bench.path("env.txt"))
    os.unlink(bench.path(".env"))


def again(bench: Bench) -> None:
    os.rename(bench.path(".git"), bench.path("git_old"))
    bench.write({".git/HEAD": b"another\n"})


def over(bench: Bench) -> None:
    os.rename(bench.path(".env"), bench.path("a.txt"))


MOVES: dict[str, Work] = {
    "a repository": move(".git", "git_old"),
    "a file": move(".env", "env.txt"),
    "a file into a folder": move(".env", "lib/env"),
    "a nested repository": move("lib/.git", "lib/.git_disabled"),
    "an ignored folder": move("build", "output"),
    "an excluded file": move("private", "public"),
    CUT: both(move("large.bin", "small"), lambda bench: os.truncate(bench.path("small"), 0)),
    OVER: over,
    "by a link": linked,
    "all of them": both(move(".env", "env.txt"), move("private", "p2"), move(".git", "git_old"), move("lib", "lib2")),
}


@pytest.mark.parametrize("name", MOVES)
def test_an_undo_gives_it_its_name_back(agents: Agents, name: str) -> None:
    bench = agents.bench
    before = everything(bench)
    step = agents.step("s", lambda: MOVES[name](bench))
    moved = everything(bench)
    said = agents.undo("s", dry_run=True)
    assert everything(bench) == moved
    bench.reopen()
    bench.configure(max_file_size=LIMIT)
    assert agents.undo("s") == said
    if name == CUT:
        before["large.bin"] = moved["small"]
    assert everything(bench) == before
    assert not agents.view(step).uncaptured
    # the same the other way round, but for what has a copy then
    agents.redo("s")
    assert everything(bench) == (before | moved if name in (CUT, OVER) else moved)
    agents.undo("s")
    assert everything(bench) == before


@pytest.mark.parametrize("name", MOVES)
def test_a_restore_gives_it_its_name_back(agents: Agents, name: str) -> None:
    bench = agents.bench
    before, tree = everything(bench), bench.track()
    MOVES[name](bench)
    bench.track()
    moved = everything(bench)
    bench.restore(tree)
    if name == CUT:
        before["large.bin"] = moved["small"]
    assert everything(bench) == before


def test_a_revert_gives_it_its_name_back(agents: Agents) -> None:
    bench = agents.bench
    before, tree = everything(bench), bench.track()
    os.rename(bench.path(".env"), bench.path("env.txt"))
    os.rename(bench.path(".git"), bench.path("git_old"))
    bench.track()
    outcome = bench.revert((tree, ["env.txt", "git_old"]))
    assert everything(bench) == before
    assert outcomes(outcome)[".env"] == "restored"


STAYS: dict[str, Work] = {
    "its name is taken": both(move(".env", "env.txt"), lambda bench: bench.write({".env": b"another\n"})),
    "a copy": both(
        lambda bench: shutil.copyfile(bench.path(".env"), bench.path("env.txt")), lambda bench: bench.remove(".env")
    ),
    "from outside": lambda bench: os.rename(bench.folder / "elsewhere", bench.path("env.txt")),
    "from an ignored folder": move("build/out", "env.txt"),
    "from the repository": move(".git/config", "env.txt"),
}


@pytest.mark.parametrize("name", STAYS)
@pytest.mark.parametrize("by", ["step", "user"])
def test_it_stays_and_is_named(agents: Agents, name: str, by: str) -> None:
    bench = agents.bench
    (bench.folder / "elsewhere").write_bytes(b"the only copy\n")
    tree = bench.track()
    bench.write({"a.txt": b"b\n"})
    # snapd must be certain that it was born before the last look
    while time.time_ns() < os.stat(bench.folder / "elsewhere").st_ctime_ns + 50_000_000:
        pass
    bench.track()
    if by == "step":
        agents.step("s", lambda: STAYS[name](bench))
    else:
        STAYS[name](bench)
        bench.track()
    there = everything(bench)
    if by == "step":
        assert agents.undo("s") == {"env.txt": "kept:onlyCopy"}
        assert everything(bench) == there
    outcome = bench.restore(tree)
    assert outcomes(outcome) == {"a.txt": "restored", "env.txt": "kept:onlyCopy"}
    assert everything(bench) == there | {"a.txt": (0o644, b"a\n")}


def test_a_repository_that_was_copied_before_it_was_deleted_gets_its_name_back(agents: Agents) -> None:
    bench = agents.bench
    before = everything(bench)

    def copy() -> None:
        shutil.copytree(bench.path(".git"), bench.path("git_old"))
        shutil.rmtree(bench.path(".git"))

    agents.step("s", copy)
    agents.undo("s")
    assert everything(bench) == before


def test_an_ignored_folder_that_was_copied_with_its_times_gets_its_name_back(agents: Agents) -> None:
    bench = agents.bench
    before = everything(bench)

    def copy() -> None:
        shutil.copytree(bench.path("build"), bench.path("output"))
        shutil.rmtree(bench.path("build"))
        bench.write({"another/folder": b"new\n"})

    agents.step("s", copy)
    agents.undo("s")
    assert everything(bench) == before


def test_a_copy_is_deleted_while_the_original_is_there(agents: Agents) -> None:
    bench = agents.bench
    before = everything(bench)
    agents.step("s", lambda: shutil.copyfile(bench.path(".env"), bench.path("env.txt")))
    agents.step("s", lambda: os.link(bench.path(".env"), bench.path("link")))
    assert agents.undo("s", 2) == {"env.txt": "deleted", "link": "deleted"}
    assert everything(bench) == before


def test_a_later_step_moves_it_on(agents: Agents) -> None:
    bench = agents.bench
    before = everything(bench)
    agents.step("s", lambda: os.rename(bench.path(".env"), bench.path("env.txt")))
    agents.step("s", lambda: os.rename(bench.path("env.txt"), bench.path("lib/env")))
    between = {("env.txt" if name == ".env" else name): entry for name, entry in before.items()}
    agents.undo("s")
    assert everything(bench) == between
    agents.undo("s")
    assert everything(bench) == before
    agents.redo("s", 2)
    agents.undo("s", 2)
    assert everything(bench) == before


def test_a_later_step_edits_it(agents: Agents) -> None:
    bench = agents.bench
    before = everything(bench)
    agents.step("s", lambda: os.rename(bench.path(".env"), bench.path("env.txt")))
    agents.step("s", {"env.txt": b"KEY=2\n"})
    agents.undo("s")
    agents.undo("s")
    assert everything(bench) == before


@pytest.mark.parametrize(
    "point", ["writer.apply", "apply.commit", "apply.move_directory", "apply.directory_moved", "writer.conclude"]
)
def test_a_killed_undo_is_finished(agents: Agents, point: str) -> None:
    bench = agents.bench
    before = everything(bench)
    agents.step("s", lambda: MOVES["all of them"](bench))
    with killed_at(point):
        agents.undo("s")
    bench.reopen()
    bench.track()
    assert everything(bench) == before


def test_a_file_that_a_watching_client_saw_under_another_name_is_new(agents: Agents) -> None:
    bench = agents.bench
    before = everything(bench)
    step = agents.begin("s")
    bench.write({"draft": b"d\n"})
    writer = bench.workspace.writer
    tree = bench.workspace.store.last
    assert tree is not None
    writer.work_tree.drift(DriftQuery(tree, bench.workspace.store.read_tree, writer.settings, (), 9, 9000), Call())
    while time.time_ns() < os.stat(bench.path("draft")).st_ctime_ns + 50_000_000:
        pass
    os.rename(bench.path("draft"), bench.path("final"))
    agents.end(step)
    assert agents.undo("s") == {"final": "deleted"}
    assert everything(bench) == before
