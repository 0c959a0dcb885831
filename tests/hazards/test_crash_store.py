"""Stores that were damaged, locked, left behind by a power cut, or written by another version."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from snapd.model.call import Call
from snapd.model.errors import StoreCorrupt, StoreLocked
from snapd.store.repository import FORMAT_VERSION
from snapd.store.store import Store
from tests.hazards.mounts import mounted, needs_root
from tests.hazards.whole import contents, look, touched
from tests.support.sessions import Agents
from tests.support.workspace import make, outcomes, write

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.hazards.conftest import Build
    from tests.support.workspace import Bench

DAY = 86_400.0


_HOLD = """
import sys
from snapd.store.store import Store
store = Store(sys.argv[1], None)
print('held', flush=True)
input()
"""


@pytest.mark.hazard(40)
def test_a_stale_lock_is_told_by_its_holder_and_not_by_its_age(build: Build) -> None:
    bench = build({"a": b"1"})
    tree = bench.track()
    path = bench.store
    # held by somebody alive: as old as it may look
    for name in ("lock", "owner.json"):
        os.utime(os.path.join(path, name), (0, 0))
    with pytest.raises(StoreLocked):
        Store(path, None)
    bench.close()
    # held by somebody who was killed: as new as it may look
    holder = subprocess.Popen([sys.executable, "-c", _HOLD, path], stdout=subprocess.PIPE, stdin=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdin is not None
    try:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(StoreLocked):
            bench.open()
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
        holder.stdin.close()
    bench.open()
    bench.write({"a": b"2"})
    bench.restore(tree)
    assert bench.read()["a"] == b"1"


def _cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _noise(path: Path) -> None:
    path.write_bytes(b"\xff\x00noise\n" * 9)


@pytest.mark.hazard(41)
@pytest.mark.parametrize(
    ("what", "damage"),
    [
        *(("refs", damage) for damage in (_cut_short, _empty, _noise)),
        *(("timeline.db", damage) for damage in (_cut_short, _empty, _noise)),
        ("config", _noise),
        ("HEAD", _empty),
        ("worktree", _cut_short),
        ("owner.json", _noise),
        ("root.json", _noise),
    ],
)
def test_a_torn_ref_config_or_database(build: Build, tmp_path: Path, what: str, damage: Callable[[Path], None]) -> None:
    bench = build({"a": b"1"})
    agents = Agents(bench)
    agents.step(agents.start("agent"), {"a": b"2"})
    last = bench.track()
    store = Path(bench.store)
    bench.close()
    for path in sorted(store.rglob("*")):
        if path.is_file() and path.relative_to(store).parts[0] == what:
            damage(path)
    other = tmp_path / "other"
    write(other, {"b": b"theirs"})
    before = look(bench.root)
    error: StoreCorrupt | None = None
    try:
        bench.open()
        kept = bench.workspace.sessions.all(Call()).views
        bench.track()
        bench.write({"a": b"3"})
        bench.restore(last)
    except StoreCorrupt as caught:
        error = caught
    if error is not None:
        # it is named, and nothing was written
        assert error.data["object"]
        assert touched(before, bench.root) <= {"a"}
    else:
        assert bench.read()["a"] == b"2"
        if what not in ("refs", "HEAD", "config"):
            assert [view.session.session_id for view in kept] == ["agent"]
            assert agents.undo("agent") == {"a": "restored"}
    # the one beside it in the same data directory is what it was
    workspace = bench.workspaces.acquire(os.fsencode(other), bench.options)
    tree = workspace.snapshots.track([], Call()).tree
    (other / "b").write_bytes(b"changed")
    assert workspace.comparison.changed(tree, None, Call())
    bench.workspaces.release(workspace, bench.options)


def _missing(path: Path) -> None:
    path.unlink()


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x10
    path.write_bytes(data)


@pytest.mark.hazard(42)
@pytest.mark.parametrize("damage", [_missing, _cut_short, _flip])
def test_a_damaged_loose_object_is_named_before_the_first_write(build: Build, damage: Callable[[Path], None]) -> None:
    bench = build({"a": b"1", "d/b": b"the damaged one\n" * 20, "z": b"1"})
    bench.track()
    bench.write({"d/b": b"the damaged one, later\n" * 20})
    then = bench.track()
    blob = bench.git("rev-parse", f"{then.hex()}:d/b").decode().strip()
    bench.write({"a": b"2", "d/b": b"now", "z": b"2"})
    bench.track()
    store = Path(bench.store)
    bench.close()
    path = store / "objects" / blob[:2] / blob[2:]
    path.chmod(0o600)
    damage(path)
    # the journal would heal it
    shutil.rmtree(store / "journal")
    bench.open()
    before = look(bench.root)
    with pytest.raises(StoreCorrupt) as caught:
        bench.restore(then)
    assert caught.value.data["object"] == blob
    assert touched(before, bench.root) == set()
    # what does not need it can be had
    assert outcomes(bench.revert((then, ["a", "z"]))) == {"a": "restored", "z": "restored"}


@pytest.mark.hazard(42)
@pytest.mark.parametrize("damage", [_missing, _cut_short, _flip])
def test_a_damaged_pack_is_named_before_the_first_write(build: Build, damage: Callable[[Path], None]) -> None:
    names = [f"d{at}/f" for at in range(40)]
    bench = build({name: os.urandom(2000) for name in names})
    then = bench.track()
    bench.write(dict.fromkeys(names, b"now"))
    bench.track()
    packs = list(Path(bench.store, "objects", "pack").glob("*.pack"))
    objects = bench.git("cat-file", "--batch-all-objects", "--batch-check").decode()
    bench.close()
    assert packs
    for pack in packs:
        pack.chmod(0o600)
        damage(pack)
    try:
        bench.open()
        before = look(bench.root)
        bench.restore(then)
    except StoreCorrupt as error:
        said = str(error.data["object"])
        assert said in objects or said == then.hex() or "pack" in said or not objects
        assert touched(before, bench.root) == set()
    else:
        pytest.fail("a restore from damaged packs said nothing")


@pytest.mark.hazard(43)
@needs_root
def test_power_loss_after_an_answer(tmp_path: Path) -> None:
    """What reached the disk by then is what a copy of the image has: the page cache above it goes with the power."""
    if shutil.which("mkfs.ext4") is None:
        pytest.skip("there is no mkfs.ext4")
    image, ground = tmp_path / "image", tmp_path / "ground"
    ground.mkdir()
    with open(image, "wb") as file:
        file.truncate(24 << 20)
    subprocess.run(["mkfs.ext4", "-q", image], check=True)
    known: dict[bytes, dict[str, bytes]] = {}
    copies = []
    with mounted(ground, "-o", "loop", str(image)):
        bench = make(ground, {f"d{at}/f": b"%d" % at * 500 for at in range(8)})
        agents = Agents(bench)
        agents.start("agent")
        for number in range(2):
            agents.step("agent", {"d0/f": b"step %d" % number, f"new{number}": b"%d" % number})
            tree = bench.track()
            known[tree] = contents(bench.root)
            copies.append(tmp_path / f"cut{number}")
            subprocess.run(["cp", "--sparse=always", image, copies[-1]], check=True)
        bench.close()
    for number, copy in enumerate(copies):
        with mounted(ground, "-o", "loop", str(copy)):
            # the files of the workspace are their owner's to sync
            bench.open()
            for tree, files in list(known.items())[: number + 1]:
                bench.restore(tree)
                assert contents(bench.root) == files
            assert len(agents.steps("agent")) == number + 1
            bench.close()
        copy.unlink()


@pytest.mark.hazard(44)
def test_the_clock_jumps_by_years(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = build({"a": b"0"})
    real, jump = time.time, [0.0]
    monkeypatch.setattr(time, "time", lambda: real() + jump[0])
    monkeypatch.setattr(time, "time_ns", lambda: int((real() + jump[0]) * 1e9))
    monkeypatch.setattr(time, "clock_gettime_ns", lambda _: time.time_ns())
    agents = Agents(bench)
    agents.start("agent")
    trees, steps = [], []
    for number, years in enumerate((0, -10, 10, -3, 0)):
        jump[0] = years * 365 * DAY
        steps.append(agents.step("agent", {"a": b"%d" % number}))
        trees.append(bench.track())
    # in the order in which they were taken, for this process and for the next
    for _ in range(2):
        assert [view.step.step_id for view in agents.steps("agent")] == steps
        _store_knows(bench, trees)
        # the clock is right again: none of them is a week old
        bench.workspace.upkeep.cleanup(7, Call())
        _store_knows(bench, trees)
        bench.reopen()
    assert agents.undo("agent") == {"a": "restored"}
    assert bench.read()["a"] == b"3"


def _store_knows(bench: Bench, trees: list[bytes]) -> None:
    for tree in trees:
        assert "a" in bench.names(tree)
    assert bench.workspace.snapshots.status().last == trees[-1]


@pytest.mark.hazard(45)
def test_a_store_of_a_newer_version_is_left_as_it_is(build: Build) -> None:
    bench = build({"a": b"1"})
    bench.track()
    store = Path(bench.store)
    bench.close()
    text = (store / "config").read_text()
    (store / "config").write_text(text.replace(f"version = {FORMAT_VERSION}", "version = 99"))
    assert "99" in (store / "config").read_text()
    before, files = look(store), look(bench.root)
    with pytest.raises(StoreCorrupt, match="newer"):
        bench.open()
    assert touched(before, store) == set()
    assert touched(files, bench.root) == set()
