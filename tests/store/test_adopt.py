"""Objects of the user's own git, taken over: nothing that happens there afterwards takes them away again."""

from __future__ import annotations

import errno
import os
import shutil
import zlib
from pathlib import Path

import pytest

from snapd.model.errors import IoError
from snapd.model.snapshot import Coverage, ObjectId, Snapshot
from snapd.store import adopt
from snapd.store.objects.codec import object_id
from tests.store.objects.test_pack_index import DAMAGE, files
from tests.store.steps import Disk, Files, Steps, expire_all, read_files
from tests.support.git import run_git

pytestmark = pytest.mark.slow


class Project:
    """A git repository of a user.

    Attributes:
        path: its work tree.
        objects: its `objects` directory.
        contents: what was committed last.
        ids: the blobs of that.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.objects = path / ".git" / "objects"
        self.contents: Files = {}
        path.mkdir(parents=True)
        run_git(path, "init", "-q")

    def commit(self, contents: Files) -> None:
        self.contents = contents
        for name, data in contents.items():
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            (self.path / name).write_bytes(data)
        run_git(self.path, "add", ".")
        run_git(self.path, "commit", "-q", "-m", "x")

    @property
    def ids(self) -> set[ObjectId]:
        return {object_id("blob", data) for data in self.contents.values()}

    def listing(self) -> dict[str, tuple[int, int, bytes]]:
        """What must not change: names, modes, inodes and bytes."""
        return {
            str(path): (path.stat().st_mode, path.stat().st_ino, path.read_bytes())
            for path in self.path.rglob("*")
            if path.is_file()
        }


CONTENTS: Files = {f"{at % 3}/{at}.c": b"int x%d;\n" % at * (at + 3) for at in range(30)}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path / "project")
    made.commit({"old": b"of long ago\n", **CONTENTS})
    made.commit(CONTENTS)
    return made


def take_over(steps: Steps, *projects: Project, wanted: set[ObjectId] | None = None) -> frozenset[ObjectId]:
    directories = [os.fsencode(project.objects) for project in projects]
    return steps.store.adopt(directories, wanted if wanted is not None else projects[0].ids)


def strangers() -> list[str]:
    return ["tmp_", ".keep", ".rev", ".bitmap", ".promisor", ".mtimes", "multi-pack-index", "_"]


def no_links(*_: object, **__: object) -> None:
    raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))


def _bytes_of_objects(steps: Steps) -> int:
    return sum(path.stat().st_size for path in (steps.path / "objects").rglob("*") if path.is_file())


@pytest.mark.parametrize("links", [True, False], ids=["links", "copies"])
@pytest.mark.parametrize("form", ["loose", "many", "packed", "bitmaps", "both"])
def test_it_is_ours_whatever_becomes_of_theirs(
    project: Project, steps: Steps, monkeypatch: pytest.MonkeyPatch, form: str, links: bool
) -> None:
    if form == "many":
        monkeypatch.setattr(adopt, "LOOSE_COUNT", 4)
    elif form != "loose":
        run_git(project.path, "repack", "-q", "-a", "-d", *(["-b"] if form == "bitmaps" else []))
        if form == "bitmaps":
            run_git(project.path, "multi-pack-index", "write")
            (pack,) = (project.objects / "pack").glob("*.pack")
            pack.with_suffix(".keep").touch()
    if form == "both":
        project.commit({**CONTENTS, "more": b"loose\n"})
    before = project.listing()
    if not links:
        monkeypatch.setattr(os, "link", no_links)
    held = take_over(steps, project, wanted={*project.ids, b"n" * 20})
    assert held == project.ids
    assert project.listing() == before
    assert take_over(steps, project) == project.ids
    objects = _bytes_of_objects(steps)
    run_git(project.path, "update-ref", "-d", "HEAD")
    run_git(project.path, "reflog", "expire", "--all", "--expire=now")
    shutil.rmtree(project.objects)
    for name in (path.name for path in (steps.path / "objects").rglob("*")):
        assert not any(stranger in name for stranger in strangers())
    tree = steps.take(project.contents)
    # no blob was stored once more
    assert _bytes_of_objects(steps) - objects < 3000
    steps.check()
    steps.kill()
    steps.check()
    steps.git("gc", "-q", "--prune=now")
    steps.check()
    assert read_files(steps.store, tree) == project.contents


def test_gc_of_the_users_repository(project: Project, steps: Steps) -> None:
    run_git(project.path, "repack", "-q", "-a", "-d")
    assert take_over(steps, project) == project.ids
    steps.take(project.contents)
    project.commit({"0/0.c": b"all new\n"})
    run_git(project.path, "gc", "-q", "--aggressive", "--prune=now")
    steps.check()
    run_git(project.path, "fsck", "--strict", "--full")


def test_alternates_and_several_directories(tmp_path: Path, project: Project, steps: Steps) -> None:
    run_git(project.path, "repack", "-q", "-a", "-d")
    other = Project(tmp_path / "other")
    other.commit({"b": b"in the other\n"})
    link = tmp_path / "by a link"
    link.symlink_to(project.objects)
    missing = tmp_path / "nowhere"
    wanted = project.ids | other.ids
    found = steps.store.adopt([os.fsencode(path) for path in (missing, other.objects, link)], wanted)
    assert found == wanted
    steps.take({**project.contents, **other.contents})
    shutil.rmtree(project.path)
    shutil.rmtree(other.path)
    steps.check()


def test_symlinked_packs_are_resolved(tmp_path: Path, project: Project, steps: Steps) -> None:
    run_git(project.path, "repack", "-q", "-a", "-d")
    for path in files(project.objects):
        shutil.move(path, tmp_path / os.path.basename(path))
        os.symlink(tmp_path / os.path.basename(path), path)
    assert take_over(steps, project) == project.ids
    for path in (steps.path / "objects" / "pack").iterdir():
        assert not path.is_symlink()
        os.unlink(tmp_path / path.name)
    steps.take(project.contents)
    steps.check()


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_pack_is_left(project: Project, steps: Steps, name: str) -> None:
    run_git(project.path, "repack", "-q", "-a", "-d")
    index, pack = files(project.objects)
    for path in (index, pack):
        os.chmod(path, 0o600)
    DAMAGE[name](index, pack)
    assert take_over(steps, project) == frozenset()
    assert list((steps.path / "objects" / "pack").iterdir()) == []
    steps.take(project.contents)
    steps.check()


@pytest.mark.parametrize("few", [100, 4])
def test_damaged_loose_objects_are_left(
    project: Project, steps: Steps, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(adopt, "LOOSE_COUNT", few)
    loose = sorted(project.ids)
    hurt = set(loose[:4])
    for at, oid in enumerate(loose[:4]):
        path = project.objects / oid.hex()[:2] / oid.hex()[2:]
        data = path.read_bytes()
        path.unlink()
        path.write_bytes([b"", data[:-3], zlib.compress(b"blob 5\0other"), data[:9] + b"\0" + data[10:]][at])
    fifo = project.objects / loose[4].hex()[:2] / loose[4].hex()[2:]
    fifo.unlink()
    os.mkfifo(fifo)
    assert take_over(steps, project) == project.ids - hurt - {loose[4]}
    steps.take(project.contents)
    steps.check()


def test_many_loose_objects_are_made_anew_with_one_sync(
    project: Project, steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = os.urandom(100_000)
    project.commit({**{f"n{at}": b"%d\n" % at for at in range(200)}, "large": large})
    monkeypatch.setattr(adopt, "PACKED_BYTES", len(large) - 1)
    links: list[str] = []
    syncs: list[int] = []
    link, sync = os.link, os.fsync
    monkeypatch.setattr(os, "link", lambda source, target, **rest: links.append(source) or link(source, target, **rest))
    monkeypatch.setattr(os, "fsync", lambda descriptor: syncs.append(descriptor) or sync(descriptor))
    assert take_over(steps, project) == project.ids
    name = object_id("blob", large).hex()
    assert links == [str(project.objects / name[:2] / name[2:])]
    # the pack, its index and their names; the large object, its name and its directory's
    assert len(syncs) == 6
    assert len(list((steps.path / "objects" / "pack").glob("*.pack"))) == 1
    steps.take(project.contents)
    steps.check()


def test_nothing_is_left_of_a_pack_without_objects(
    project: Project, steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adopt, "LOOSE_COUNT", 0)
    for oid in project.ids:
        path = project.objects / oid.hex()[:2] / oid.hex()[2:]
        path.unlink()
        path.touch()
    assert take_over(steps, project) == frozenset()
    assert list((steps.path / "objects" / "pack").iterdir()) == []


def test_a_pack_that_goes_while_we_look(project: Project, steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    run_git(project.path, "repack", "-q", "-a", "-d")
    real = os.link

    def gone(source: str, target: str, **rest: bool) -> None:
        if source.endswith(".idx"):
            os.unlink(source)
        real(source, target, **rest)

    monkeypatch.setattr(os, "link", gone)
    assert take_over(steps, project) == frozenset()
    assert list((steps.path / "objects" / "pack").iterdir()) == []


def test_a_pack_that_is_replaced_while_we_look(
    tmp_path: Path, project: Project, steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Project(tmp_path / "other")
    other.commit({"b": b"in the other\n"})
    for made in (project, other):
        run_git(made.path, "repack", "-q", "-a", "-d")
    real = os.link

    def replaced(source: str, target: str, **rest: bool) -> None:
        real(files(other.objects)[1] if source.endswith(".pack") else source, target, **rest)

    monkeypatch.setattr(os, "link", replaced)
    assert take_over(steps, project) == frozenset()
    assert list((steps.path / "objects" / "pack").iterdir()) == []


def test_no_more_is_copied_than_is_worth_it(project: Project, steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    project.commit({**CONTENTS, "noise": os.urandom(100_000)})
    run_git(project.path, "repack", "-q", "-a", "-d")
    monkeypatch.setattr(os, "link", no_links)
    monkeypatch.setattr(adopt, "COPY_BYTES", 1000)
    assert take_over(steps, project, wanted=set(sorted(project.ids)[:2])) == frozenset()
    assert take_over(steps, project) == project.ids


def test_no_space_for_a_copy_leaves_it(project: Project, steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    run_git(project.path, "repack", "-q", "-a", "-d")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "link", no_links)
    monkeypatch.setattr(shutil, "copyfileobj", full)
    assert take_over(steps, project) == frozenset()
    assert list((steps.path / "objects" / "pack").iterdir()) == []


def test_what_cannot_be_made_durable_is_told(project: Project, steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    run_git(project.path, "repack", "-q", "-a", "-d")

    def fail(_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(IoError):
        take_over(steps, project)
    assert not [path for path in (steps.path / "objects" / "pack").iterdir() if "tmp" in path.name]


@pytest.mark.parametrize("names_stay", [False, True])
@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize(("packed", "few"), [(True, 32), (False, 32), (False, 4)])
def test_a_power_cut_after_it(
    tmp_path: Path,
    project: Project,
    steps: Steps,
    monkeypatch: pytest.MonkeyPatch,
    packed: bool,
    few: int,
    links: bool,
    names_stay: bool,
) -> None:
    monkeypatch.setattr(adopt, "LOOSE_COUNT", few)
    if packed:
        run_git(project.path, "repack", "-q", "-a", "-d")
    disk = Disk(steps.path, monkeypatch)
    if not links:
        monkeypatch.setattr(os, "link", no_links)
    assert take_over(steps, project) == project.ids
    steps.take(project.contents)
    steps.kill(disk.after_a_cut(tmp_path / "after", names_stay))
    disk.close()
    steps.check()


def test_expiry_leaves_a_pack_that_is_shared(project: Project, steps: Steps) -> None:
    """To write it anew would free nothing; it goes when nothing of it is held, and theirs stays."""
    run_git(project.path, "repack", "-q", "-a", "-d")
    take_over(steps, project)
    steps.take(project.contents)
    steps.take({"0/0.c": CONTENTS["0/0.c"]})
    last = list(steps.answered)[-1]
    (ours,) = (steps.path / "objects" / "pack").glob("*.pack")
    assert expire_all(steps.store)[0] == 1
    steps.answered = {last: steps.answered[last]}
    assert ours.exists()
    steps.check()
    # theirs goes: now ours is worth writing anew
    for path in files(project.objects):
        os.unlink(path)
    steps.take({"0/0.c": CONTENTS["0/0.c"], "x": b"x"})
    steps.answered.pop(last)
    steps.store.record(Snapshot(next(iter(steps.answered)), Coverage()), "track")
    assert expire_all(steps.store)[0] >= 1
    assert not ours.exists()
    steps.check()
    assert len(steps.git("cat-file", "--batch-all-objects", "--batch-check").splitlines()) < 8


def test_expiry_removes_a_pack_of_which_nothing_is_held(project: Project, steps: Steps) -> None:
    run_git(project.path, "repack", "-q", "-a", "-d")
    before = project.listing()
    take_over(steps, project)
    adopted = {path.name for path in (steps.path / "objects" / "pack").iterdir()}
    steps.take(project.contents)
    steps.take({"new": b"new\n"})
    last = list(steps.answered)[-1]
    expire_all(steps.store)
    steps.answered = {last: steps.answered[last]}
    steps.check()
    assert not {path.name for path in (steps.path / "objects" / "pack").iterdir()} & adopted
    assert project.listing() == before
    # what was dropped comes again
    assert take_over(steps, project) == project.ids
    steps.take(project.contents)
    steps.check()
