"""A file or directory that comes back has the permissions that it had, as far as they were not what the umask gives."""

from __future__ import annotations

import itertools
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.support import workspace
from tests.support.failures import killed_at
from tests.support.sessions import Agents
from tests.support.workspace import Bench, make

MODES = {"plain": 0o644, "secret": 0o600, "group": 0o664, "tool": 0o750, "read-only": 0o444, "d/inside": 0o640}
DIRECTORIES = {"d": 0o2775, "private": 0o700, "empty": 0o750}


@pytest.fixture(params=[0o022, 0o002, 0o077], ids="{:03o}".format)
def umask(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(workspace, "UMASK", request.param)
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.fixture
def agents(umask: int, tmp_path: Path) -> Agents:
    bench = make(tmp_path, dict.fromkeys((*MODES, "private/p"), b"1\n") | {"empty/": None})
    for name, mode in {**MODES, **DIRECTORIES}.items():
        os.chmod(bench.path(name), mode)
    made = Agents(bench)
    made.start("s")
    bench.track()
    return made


def permissions(bench: Bench) -> dict[str, int]:
    found = (os.path.join(above, name) for above, *names in os.walk(bench.root) for each in names for name in each)
    return {os.path.relpath(path, bench.root): stat.S_IMODE(os.lstat(path).st_mode) for path in found}


def delete(bench: Bench) -> None:
    for name in (*MODES, "private", "empty", "d"):
        if os.path.lexists(bench.path(name)):
            shutil.rmtree(bench.path(name)) if os.path.isdir(bench.path(name)) else os.unlink(bench.path(name))


def test_what_was_deleted_comes_back_with_them(agents: Agents) -> None:
    bench = agents.bench
    before, tree = permissions(bench), bench.track()
    agents.step("s", lambda: delete(bench))
    bench.reopen()
    agents.undo("s")
    assert permissions(bench) == before
    agents.redo("s")
    assert not permissions(bench)
    bench.restore(tree)
    assert permissions(bench) == before


def test_a_file_that_a_symlink_replaced_comes_back_with_them(agents: Agents) -> None:
    """The mode of a symlink is 777 on Linux, and says nothing."""
    bench = agents.bench
    before, tree = permissions(bench), bench.track()

    def link() -> None:
        for name in MODES:
            os.rename(bench.path(name), bench.path(f"{name}.moved"))
            os.symlink(f"{os.path.basename(name)}.moved", bench.path(name))

    agents.step("s", link)
    agents.undo("s")
    assert permissions(bench) == before
    agents.redo("s")
    bench.restore(tree)
    assert permissions(bench) == before


@pytest.mark.parametrize("point", ["apply.commit", "apply.move", "writer.conclude"])
def test_it_does_after_a_kill(agents: Agents, point: str) -> None:
    bench = agents.bench
    before = permissions(bench)
    agents.step("s", lambda: delete(bench))
    with killed_at(point):
        agents.undo("s")
    bench.reopen()
    bench.track()
    assert permissions(bench) == before


def test_what_was_edited_has_them(agents: Agents) -> None:
    bench = agents.bench
    before = permissions(bench)

    def edit() -> None:
        for name in MODES:
            with open(bench.path(name), "r+b") as file:
                file.write(b"2")

    agents.step("s", edit)
    agents.undo("s")
    assert permissions(bench) == before
    agents.redo("s")
    assert permissions(bench) == before


def test_a_secret_that_was_written_anew_is_secret_again(agents: Agents) -> None:
    bench = agents.bench
    before = permissions(bench)
    agents.step("s", lambda: bench.write({"secret": b"2\n", "new": b"2\n"}))
    os.chmod(bench.path("new"), 0o600)
    assert permissions(bench)["secret"] == 0o644
    bench.track()
    agents.undo("s")
    assert permissions(bench) == before
    agents.redo("s")
    assert permissions(bench)["new"] == 0o600


def test_what_the_user_has_made_narrower_since_stays_so(agents: Agents) -> None:
    bench = agents.bench
    agents.step("s", {"plain": b"2\n"})
    os.chmod(bench.path("plain"), 0o600)
    agents.undo("s")
    assert permissions(bench)["plain"] == 0o600


def test_a_change_of_permissions_alone_is_noticed(agents: Agents) -> None:
    bench = agents.bench
    os.chmod(bench.path("plain"), 0o640)
    os.chmod(bench.path("private"), 0o711)
    bench.track()
    agents.step("s", lambda: bench.remove("plain", "private"))
    agents.undo("s")
    assert (permissions(bench)["plain"], permissions(bench)["private"]) == (0o640, 0o711)


CHANGED = {"plain": 0o444, "secret": 0o644, "group": 0o600, "tool": 0o500, "read-only": 0o640, "d/inside": 0o600}


def rewrite(bench: Bench, modes: Mapping[str, int], data: bytes = b"2\n") -> None:
    for name, mode in modes.items():
        Path(bench.path(name)).unlink(missing_ok=True)
        bench.write({name: data})
        os.chmod(bench.path(name), mode)


def test_what_a_step_changed_with_the_text_goes_back_and_comes_again(agents: Agents) -> None:
    bench = agents.bench
    before = permissions(bench)
    agents.step("s", lambda: rewrite(bench, CHANGED))
    left = permissions(bench)
    agents.undo("s")
    assert permissions(bench) == before
    bench.reopen()
    agents.redo("s")
    assert permissions(bench) == left == {**before, **CHANGED}


@pytest.mark.parametrize("point", ["apply.commit", "apply.exchange", "writer.conclude"])
def test_that_goes_back_after_a_kill(agents: Agents, point: str) -> None:
    bench = agents.bench
    before = permissions(bench)
    agents.step("s", lambda: rewrite(bench, CHANGED))
    with killed_at(point):
        agents.undo("s")
    bench.reopen()
    bench.track()
    assert permissions(bench) == before


def test_it_goes_back_with_several_steps_and_stays_with_a_part_of_them(agents: Agents) -> None:
    bench = agents.bench
    before = permissions(bench)
    first = agents.step("s", lambda: rewrite(bench, {"plain": 0o644}))
    agents.step("s", lambda: (os.chmod(bench.path("plain"), 0o400), bench.write({"other": b""})))
    agents.step("s", lambda: rewrite(bench, {"plain": 0o400}, b"2\n3\n"))
    agents.undo("s")
    assert permissions(bench)["plain"] == 0o400
    agents.undo("s", step=first)
    assert permissions(bench)["plain"] == 0o400
    agents.redo("s", 2)
    agents.undo("s", 3)
    assert permissions(bench) == before


def test_what_the_user_changed_since_is_merged_with_it(agents: Agents) -> None:
    bench = agents.bench
    modes = (0o644, 0o600, 0o444, 0o400, 0o640, 0o664, 0o755, 0o744, 0o555)
    files = {"-".join(map(oct, three)): three for three in itertools.product(modes, repeat=3)}
    rewrite(bench, {name: before for name, (before, _, _) in files.items()}, b"1\n")
    bench.track()
    agents.step("s", lambda: rewrite(bench, {name: left for name, (_, left, _) in files.items()}))
    for name, (_, _, since) in files.items():
        os.chmod(bench.path(name), since)
    agents.undo("s")
    after = permissions(bench)
    for name, (before, left, since) in files.items():
        # who may run it goes with the mode, which is merged by itself
        before_, left_, since_, after_ = (mode & 0o666 for mode in (before, left, since, after[name]))
        if before == left or since == left:
            assert after[name] == (since if before == left else before), name
        if before_ == left_ or since_ == left_:
            assert after_ == (since_ if before_ == left_ else before_), name
        else:
            assert after_ == before_ & (0o600 | since_), name


def test_a_restore_makes_writable_and_shows_nobody_a_secret(agents: Agents, umask: int) -> None:
    bench = agents.bench
    tree = bench.track()
    agents.step("s", lambda: rewrite(bench, {"plain": 0o444, "secret": 0o400, "group": 0o400}))
    bench.restore(tree)
    now = permissions(bench)
    assert (now["plain"], now["secret"], now["group"]) == (0o644, 0o600, 0o600)


def test_what_is_not_recorded_shows_nobody_a_secret(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = agents.bench
    os.chmod(bench.path("secret"), 0o600)
    for module in ("snapd.core.operations.patch", "snapd.worktree.state.tree_state"):
        monkeypatch.setattr(f"{module}.MOST_PERMISSIONS", 4)
    bench.write({"a1": b"", "a2": b"", "a3": b""})
    for name in ("a1", "a2", "a3"):
        os.chmod(bench.path(name), 0o640)
    bench.track()
    agents.step(
        "s", lambda: (bench.remove(*MODES.keys() - {"secret"}, "a1", "a2", "a3"), rewrite(bench, {"secret": 0o600}))
    )
    agents.undo("s")
    assert permissions(bench)["secret"] == 0o600


def test_a_file_that_moved_stays_secret(agents: Agents) -> None:
    bench = agents.bench
    agents.step("s", lambda: os.rename(bench.path("plain"), bench.path("moved")))
    os.chmod(bench.path("moved"), 0o600)
    agents.undo("s")
    assert permissions(bench)["plain"] == 0o600
