"""Each kind of file of the objects, damaged in each way: a dict says what was stored, git agrees with what is found."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from snapd.model.call import Call
from snapd.model.check_report import CheckReport
from snapd.model.errors import Cancelled, StoreCorrupt
from snapd.model.snapshot import ObjectId
from snapd.store import object_store
from snapd.store.files.quarantine import MANIFEST
from snapd.store.fsck.checkers import check_closed
from snapd.store.maintenance.packing import NOW
from snapd.store.maintenance.repack import CancelToken, repack
from tests.store.fsck import damage
from tests.store.fsck.damage import blob_id, git_finds, git_is_content, loose, places
from tests.store.steps import Files, Steps, read_files
from tests.support.git import run_git

BASE: Files = {"a": b"first\n" * 40, "d/b": b"second\n" * 50, "d/e/c": b"third\n"}


def step(number: int) -> Files:
    return {**BASE, "d/e/c": b"step %d\n" % number * 30}


def many(number: int) -> Files:
    return {f"m{at % 7}/f{at}": b"file %d of %d\n" % (at, number) * 20 for at in range(60)}


def check(steps: Steps) -> CheckReport:
    return steps.store.check(Call(), quick=False, alone=True)


def repair(steps: Steps, *directories: Path, files: dict[bytes, bytes] | None = None) -> CheckReport:
    known = files or {}
    steps.store.repair(tuple(bytes(directory) for directory in directories), known.get, Call())
    return check(steps)


def model(steps: Steps) -> dict[ObjectId, Files]:
    return {tree: files for tree, (files, _) in steps.answered.items()}


def subjects(found: CheckReport) -> set[str]:
    return {problem.subject for problem in found.problems if problem.kind in ("damagedObject", "missingObject")}


def only(path: Path, pattern: str) -> Path:
    (found,) = path.glob(pattern)
    return found


# -- what is sound


def test_a_sound_store_is_clean_however_it_is_kept(steps: Steps) -> None:
    for number in range(4):
        steps.take(step(number))
    steps.take(many(0))
    steps.take(many(1))
    before = check(steps)
    assert before.problems == before.broken == ()
    assert before.snapshots == 6
    count = int(run_git(steps.path, "--git-dir=.", "count-objects", "-v").split()[1])
    packed = int(run_git(steps.path, "--git-dir=.", "count-objects", "-v").decode().split("in-pack: ")[1].split()[0])
    assert before.objects == count + packed
    # with deltas, of both kinds
    repack(steps.store.repository, NOW, CancelToken())
    assert check(steps).problems == ()
    steps.git("-c", "repack.useDeltaBaseOffset=false", "repack", "-adfq", "--depth=50")
    steps.git("pack-refs", "--all")
    steps.store.repository.forget_packs()
    after = check(steps)
    assert (after.problems, after.snapshots) == ((), 6)
    steps.check()


def test_a_check_changes_nothing(steps: Steps) -> None:
    steps.take(step(0))
    damage.flip(loose(steps.path, blob_id(BASE["a"])))
    check(steps)
    before = damage.everything(steps.path)
    check(steps)
    steps.store.check(Call(), quick=True, alone=False)
    assert damage.everything(steps.path) == before


def test_a_check_can_be_cancelled(steps: Steps) -> None:
    steps.take(step(0))
    call = Call()
    call.cancel()
    with pytest.raises(Cancelled):
        steps.store.check(call, quick=False, alone=False)
    with pytest.raises(Cancelled):
        steps.store.repair((), lambda _: None, call)


# -- loose objects


@pytest.mark.parametrize("how", [*damage.ALL, damage.swap], ids=lambda how: how.__name__)
def test_a_lost_blob_is_named_with_what_it_touches(steps: Steps, how: damage.Damage) -> None:
    for number in range(3):
        steps.take(step(number))
    other = steps.take({"only": b"here\n"})
    lost = blob_id(BASE["d/b"])
    how(loose(steps.path, lost))
    found = check(steps)
    assert subjects(found) == {lost.hex()} == git_finds(steps.path) & {lost.hex()}
    (problem,) = found.problems
    touched = {file.path: set(file.snapshots) for file in problem.files}
    assert touched == places(model(steps), lost)
    assert set(found.broken) == set(steps.answered) - {other}
    assert problem.kind == ("missingObject" if how is damage.drop else "damagedObject")
    # nobody has it: it is told exactly, and what was there is kept
    after = repair(steps)
    assert subjects(after) == {lost.hex()}
    assert {problem.kind for problem in after.problems} == {"missingObject"}
    for tree in found.broken:
        assert steps.store.find(tree)
        with pytest.raises(StoreCorrupt) as error:
            read_files(steps.store, tree)
        assert error.value.data["object"] == lost.hex()
    assert read_files(steps.store, other) == {"only": b"here\n"}
    kept = list(steps.path.glob(f"quarantine/*/*-{lost.hex()[2:]}"))
    assert len(kept) == (0 if how is damage.drop else 1)
    # the same file in the work tree brings it back; anything else does not
    assert subjects(repair(steps, files={b"d/b": b"something else"})) == {lost.hex()}
    assert repair(steps, files={b"d/b": BASE["d/b"]}).problems == ()
    assert git_is_content(steps.path)
    steps.answered.pop(other)
    steps.answered[other] = ({"only": b"here\n"}, steps.store.find(other).coverage)
    steps.check()


@pytest.mark.parametrize("how", damage.ALL, ids=lambda how: how.__name__)
def test_a_lost_directory_comes_back_with_all_in_it_from_the_projects_git(
    steps: Steps, tmp_path: Path, how: damage.Damage
) -> None:
    tree = steps.take(step(1))
    git = tmp_path / "project.git"
    shutil.copytree(steps.path, git)
    sub = steps.git("rev-parse", f"{tree.hex()}:d").decode().strip()
    blob = blob_id(step(1)["d/e/c"])
    for oid in (bytes.fromhex(sub), blob):
        how(loose(steps.path, oid))
    found = check(steps)
    # what lies below a lost directory cannot be known
    assert sub in subjects(found)
    before = damage.everything(git)
    assert repair(steps, git / "objects").problems == ()
    assert damage.everything(git) == before
    assert git_is_content(steps.path)
    steps.check()


def test_a_damaged_source_is_not_believed(steps: Steps, tmp_path: Path) -> None:
    steps.take(step(0))
    git = tmp_path / "project.git"
    shutil.copytree(steps.path, git)
    lost = blob_id(BASE["a"])
    damage.drop(loose(steps.path, lost))
    for how in (damage.swap, damage.cut):
        how(loose(git, lost))
        assert subjects(repair(steps, git / "objects", tmp_path / "nowhere")) == {lost.hex()}


def test_a_damaged_copy_that_nobody_needs_is_put_aside(steps: Steps) -> None:
    steps.take(step(0))
    stray = steps.store_files({"x": b"never recorded\n"})
    steps.store.repository.journal.flush()
    damage.flip(loose(steps.path, blob_id(b"never recorded\n")))
    found = check(steps)
    assert [problem.files for problem in found.problems] == [()]
    assert found.broken == ()
    assert repair(steps).problems == ()
    assert not steps.store.knows(stray)


# -- packs


@pytest.fixture
def packed(steps: Steps) -> Steps:
    for number in range(3):
        steps.take(many(number))
    steps.take(step(0))
    repack(steps.store.repository, NOW, CancelToken())
    assert len(list(steps.path.glob("objects/pack/*.pack"))) == 1
    assert not list(steps.path.glob("objects/??/*"))
    return steps


@pytest.mark.parametrize("how", [*damage.ALL, damage.flip_end], ids=lambda how: how.__name__)
def test_what_is_sound_in_a_damaged_pack_is_saved(packed: Steps, tmp_path: Path, how: damage.Damage) -> None:
    git = tmp_path / "project.git"
    shutil.copytree(packed.path, git)
    pack = only(packed.path, "objects/pack/*.pack")
    how(pack)
    packed.store.repository.forget_packs()
    found = check_closed_of(packed)
    assert pack.name in {problem.subject.rpartition("/")[2] for problem in found.problems}
    after = repair(packed)
    # what it says is lost is what a model cannot read, to the last file
    lost = subjects(after)
    records_are_lost = how not in (damage.flip, damage.flip_end)
    for tree, files in model(packed).items():
        if packed.store.knows(tree) and tree not in after.broken:
            assert read_files(packed.store, tree) == files
        else:
            assert tree in after.broken or records_are_lost
    if how is damage.flip_end:
        assert after.problems == ()
    for oid in lost:
        assert not packed.store.repository.has(bytes.fromhex(oid))
    assert not list(packed.path.glob("objects/pack/tmp*"))
    assert repair(packed, git / "objects").problems == ()
    assert git_is_content(packed.path)
    if not records_are_lost:
        packed.check()


@pytest.mark.parametrize("how", [*damage.ALL, damage.flip_end], ids=lambda how: how.__name__)
def test_a_lost_pack_of_contents_comes_back_from_the_projects_git(
    steps: Steps, tmp_path: Path, how: damage.Damage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_store, "LOOSE_COUNT", 32)
    steps.take(step(0))
    steps.take(many(0))
    git = tmp_path / "project.git"
    shutil.copytree(steps.path, git)
    how(only(steps.path, "objects/pack/*.pack"))
    steps.store.repository.forget_packs()
    found = check(steps)
    assert found.snapshots == 2
    missing = {oid for oid in git_finds(steps.path) if bytes.fromhex(oid) in ids_of(git)}
    assert subjects(found) <= missing or how is damage.cut
    assert repair(steps, git / "objects").problems == ()
    assert git_is_content(steps.path)
    steps.check()


def ids_of(git: Path) -> set[bytes]:
    said = run_git(git, "--git-dir=.", "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
    return {bytes.fromhex(line) for line in said.decode().split()}


def check_closed_of(steps: Steps) -> CheckReport:
    """As another process checks it, from what is on the disk alone."""
    steps.store.close()
    try:
        return check_closed(str(steps.path), Call(), quick=False, mend=False)
    finally:
        # a store whose log is damaged cannot be opened before it is repaired
        try:
            steps.open()
        except StoreCorrupt:
            check_closed(str(steps.path), Call(), quick=False, mend=True)
            steps.open()


@pytest.mark.parametrize("how", damage.ALL, ids=lambda how: how.__name__)
def test_an_index_is_made_anew_from_its_pack(packed: Steps, how: damage.Damage) -> None:
    index = only(packed.path, "objects/pack/*.idx")
    before = index.read_bytes()
    packed.store.close()
    how(index)
    found = check_closed(str(packed.path), Call(), quick=False, mend=False)
    assert [problem.kind for problem in found.problems] == ["damagedIndex"]
    assert found.broken == ()
    mended = check_closed(str(packed.path), Call(), quick=False, mend=True)
    assert (mended.problems, len(mended.repaired)) == ((), 1)
    # git made the first one, we the second
    assert index.read_bytes() == before
    packed.open()
    packed.check()


def test_a_pack_of_a_crash_without_an_index_is_no_damage(packed: Steps) -> None:
    pack = only(packed.path, "objects/pack/*.pack")
    shutil.copy(pack, pack.with_name(f"pack-{'0' * 40}.pack"))
    assert check(packed).problems == ()


def test_the_manifest_says_what_was_put_aside(packed: Steps) -> None:
    pack = only(packed.path, "objects/pack/*.pack")
    data = pack.read_bytes()
    damage.flip(pack)
    damaged = pack.read_bytes()
    assert damaged != data
    packed.store.close()
    mended = check_closed(str(packed.path), Call(), quick=False, mend=True)
    assert mended.quarantine is not None
    import json

    lines = [json.loads(line) for line in (Path(mended.quarantine) / MANIFEST).read_text().splitlines()]
    kept = {line["file"]: Path(mended.quarantine) / line["keptAs"] for line in lines}
    assert kept[f"objects/pack/{pack.name}"].read_bytes() == damaged
    assert all(path.exists() for path in kept.values())
    packed.open()
