"""A repair that is killed before some call that changes something: the store is no worse, and the next one ends it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from snapd.model.call import Call
from snapd.model.check_report import CheckReport
from snapd.model.errors import SnapdError
from snapd.model.snapshot import ObjectId
from snapd.store.files.lock import Ownership
from snapd.store.fsck.checkers import check, repair
from snapd.store.maintenance.packing import NOW
from snapd.store.maintenance.repack import CancelToken, repack
from snapd.store.repository import ShadowRepository
from tests.store.fsck import damage
from tests.store.fsck.damage import blob_id, loose
from tests.store.fsck.test_objects import BASE, many, step
from tests.store.steps import Steps
from tests.support.amounts import amount

_CHANGING = ("rename", "unlink", "link", "fsync", "mkdir", "write")
_KILLED = 77
_STRIDE = amount(13, 3, "FSCK_KILL_STRIDE")
"""Between two calls before which it is killed; 1 tries each of them."""


def damaged_pack(steps: Steps) -> None:
    steps.take(many(0))
    steps.take(many(1))
    repack(steps.store.repository, NOW, CancelToken())
    steps.take(step(0))
    steps.store.close()
    (pack,) = steps.path.glob("objects/pack/*.pack")
    damage.flip_packed(pack, blob_id(many(0)["m0/f0"]))


def damaged_index(steps: Steps) -> None:
    steps.take(many(0))
    steps.store.close()
    (index,) = steps.path.glob("objects/pack/*.idx")
    damage.cut(index)


def damaged_chain(steps: Steps) -> None:
    for number in range(4):
        steps.take(step(number))
    commits = steps.git("rev-list", "--all").decode().split()
    steps.store.close()
    damage.flip(loose(steps.path, bytes.fromhex(commits[2])))
    damage.cut(loose(steps.path, blob_id(BASE["a"])))
    damage.drop(loose(steps.path, blob_id(BASE["d/b"])))


def mend(store: Path, sources: Path) -> CheckReport:
    directories = (os.fsencode(sources / "objects"),)
    ownership = Ownership(str(store), None)

    def settle() -> None:
        ShadowRepository(str(store)).journal.checkpoint()

    try:
        repair(str(store), directories, lambda _: None, settle, Call())
        return check(str(store), Call(), quick=False)
    finally:
        ownership.release()


def killed_at(number: int, store: Path, sources: Path) -> bool:
    """Repairs in a process that dies before so many calls; whether it came to that."""
    child = os.fork()
    if child == 0:
        left = number

        def dying(call: Callable[..., object]) -> Callable[..., object]:
            def die_or_call(*args: object, **options: object) -> object:
                nonlocal left
                left -= 1
                if left < 0:
                    os._exit(_KILLED)
                return call(*args, **options)

            return die_or_call

        for name in _CHANGING:
            setattr(os, name, dying(getattr(os, name)))
        try:
            mend(store, sources)
        except SnapdError:
            os._exit(2)
        except BaseException:
            os._exit(3)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) in (0, _KILLED)
    return os.waitstatus_to_exitcode(status) == _KILLED


def readable(store: Path, ids: set[ObjectId]) -> set[ObjectId]:
    from snapd.store.fsck.inventory import ObjectInventory

    with ObjectInventory(str(store / "objects")) as holdings:
        holdings.rebuild_indexes(Call())
        return {oid for oid in ids if holdings.read(oid) is not None}


@pytest.mark.parametrize("how", [damaged_pack, damaged_index, damaged_chain], ids=lambda how: how.__name__)
def test_a_repair_that_is_killed_leaves_nothing_worse(
    steps: Steps, tmp_path: Path, how: Callable[[Steps], None]
) -> None:
    sources = tmp_path / "sources"
    steps.take(step(9))
    for number in range(4):
        steps.take(step(number))
    how(steps)
    shutil.copytree(steps.path, sources)
    # the project's git has some of it
    with_all = tmp_path / "project"
    other = Steps(with_all)
    for files, _ in steps.answered.values():
        other.store_files(files)
    other.store.repository.journal.flush()
    other.store.close()
    ids = {blob_id(data) for files, _ in steps.answered.values() for data in files.values()}
    before = readable(steps.path, ids)
    kills = 0
    done = False
    while not done:
        store = tmp_path / f"killed{kills}"
        shutil.copytree(sources, store)
        done = not killed_at(kills * _STRIDE, store, with_all)
        assert readable(store, ids) >= before
        after = mend(store, with_all)
        assert after.problems == (), kills
        assert readable(store, ids) == ids
        shutil.rmtree(store)
        kills += 1
    assert kills > 2
    # so that the fixture can close it
    mend(steps.path, with_all)
    steps.open()
