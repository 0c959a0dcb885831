"""What is no plain file: special files, links, files too large or forbidden, mounts; and what only looks unchanged."""

from __future__ import annotations

import os
import socket
import stat
from typing import TYPE_CHECKING

import pytest

from snapd.model.snapshot import Skip, SkipReason
from tests.hazards.mounts import done, mounted, needs_root
from tests.hazards.whole import contents, look, touched
from tests.support.workspace import Executable, make, outcomes, without_rights

if TYPE_CHECKING:
    from pathlib import Path

    from snapd.core.feed import TrackNotice
    from snapd.watch.choose import WatcherSetting
    from tests.hazards.conftest import Build
    from tests.support.workspace import Items


def _skipped(taken: TrackNotice) -> dict[str, SkipReason]:
    return {os.fsdecode(skip.path): skip.reason for skip in taken.skipped}


@pytest.mark.hazard(10)
def test_fifo_socket_and_device_are_listed_and_never_opened_nor_removed(build: Build, tmp_path: Path) -> None:
    bench = build({"a": b"1"})
    bare = bench.track()
    bench.write({"s/a": b"2"})
    os.mkfifo(bench.path("s/fifo"))
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(bench.path("s/socket")))
    wanted = {"s/fifo": SkipReason.SPECIAL, "s/socket": SkipReason.SPECIAL}
    if os.geteuid() == 0:
        os.mknod(bench.path("s/device"), stat.S_IFCHR | 0o600, os.makedev(1, 3))
        wanted["s/device"] = SkipReason.SPECIAL
    before = look(bench.root)
    # a FIFO that were opened would hold the test up; nobody writes to it
    taken = bench.take()
    assert _skipped(taken) == wanted
    assert outcomes(bench.restore(bare)) == {"s/a": "deleted"}
    assert touched(before, bench.root) == {"s/a"}
    bench.restore(taken.tree)
    assert touched(before, bench.root) == {"s/a"}
    assert bench.read()["s/a"] == b"2"


@pytest.mark.hazard(10)
def test_a_fifo_stands_where_a_file_is_to_be_restored(build: Build) -> None:
    bench = build({"a": b"1", "b": b"1"})
    tree = bench.track()
    bench.remove("a")
    bench.write({"b": b"2"})
    os.mkfifo(bench.path("a"))
    before = look(bench.root)
    assert outcomes(bench.restore(tree)) == {"a": "skipped:special", "b": "restored"}
    assert touched(before, bench.root) == {"b"}


@pytest.mark.hazard(12)
def test_a_hard_link_to_a_file_outside_is_replaced_and_not_written_through(build: Build, outside: Path) -> None:
    bench = build({"a": b"1", "run": Executable(b"2")})
    tree = bench.track()
    for name in ("a", "run"):
        bench.remove(name)
        os.link(outside / name, bench.path(name))
    # the one who opened it by its other name goes on writing there, and not in the workspace
    assert outcomes(bench.restore(tree)) == {"a": "restored", "run": "restored"}
    assert bench.read() == {"a": b"1", "run": Executable(b"2"), "nested/inner": b"inner\n"}
    assert os.stat(outside / "a").st_nlink == 1


@pytest.mark.hazard(13)
def test_a_file_over_the_size_limit_is_not_deleted_even_when_it_has_shrunk(build: Build) -> None:
    bench = build({"a": b"1", "large": b"x" * 1001, "d/large": b"x" * 1001})
    bench.configure(max_file_size=1000)
    taken = bench.take()
    assert _skipped(taken) == {"large": SkipReason.TOO_LARGE, "d/large": SkipReason.TOO_LARGE}
    bench.write({"a": b"2", "large": b"small now"})
    before = look(bench.root)
    assert outcomes(bench.restore(taken.tree)) == {"a": "restored", "large": "kept:tooLarge"}
    assert touched(before, bench.root) == {"a"}


@pytest.mark.hazard(13)
def test_a_file_that_grew_over_the_limit_is_not_written_over(build: Build) -> None:
    bench = build({"a": b"1"})
    bench.configure(max_file_size=1000)
    tree = bench.track()
    bench.write({"a": b"x" * 1001})
    before = look(bench.root)
    assert outcomes(bench.restore(tree)) == {"a": "skipped:tooLarge"}
    assert touched(before, bench.root) == set()


@pytest.mark.hazard(14)
def test_a_sparse_file_of_a_terabyte_is_listed_without_being_read(build: Build) -> None:
    bench = build({"a": b"1"})
    with open(bench.path("sparse"), "wb") as file:
        file.truncate(1 << 40)
    # reading it would take an hour; the limit of the suite is two minutes
    taken = bench.take()
    assert _skipped(taken) == {"sparse": SkipReason.TOO_LARGE}
    bench.restore(taken.tree)
    assert os.stat(bench.path("sparse")).st_size == 1 << 40


@pytest.mark.hazard(15)
def test_what_cannot_be_read_is_listed_and_left_alone() -> None:
    with without_rights() as folder:
        items: Items = {"a": b"1", "secret": b"2", "d/b": b"3", "locked/c": b"4"}
        bench = make(folder, items)
        whole = bench.track()
        bench.write({"a": b"new"})
        os.chmod(bench.path("secret"), 0)
        os.chmod(bench.path("locked"), 0)
        taken = bench.take()
        assert _skipped(taken) == {"secret": SkipReason.UNREADABLE, "locked": SkipReason.UNREADABLE}
        said = outcomes(bench.restore(whole))
        assert said.pop("a") == "restored"
        assert set(said) <= {"secret", "locked/c"}
        assert not {"deleted", "restored"} & set(said.values())
        # nor does a snapshot that lists them lead to their deletion
        bench.restore(taken.tree)
        os.chmod(bench.path("secret"), 0o644)
        os.chmod(bench.path("locked"), 0o755)
        assert bench.read() == {**items, "a": b"new"}


@pytest.mark.hazard(17)
@pytest.mark.parametrize("watcher", ["auto", "none"])
def test_another_content_of_the_same_size_and_mtime(build: Build, watcher: WatcherSetting) -> None:
    bench = build({"a": b"one", "b": b"one"}, watcher=watcher)
    then = bench.track()
    status = os.stat(bench.path("a"))
    for how in ("in place", "replaced", "while nobody watches"):
        if how == "while nobody watches":
            bench.close()
        bench.write({"a": how[:3].encode()})
        if how == "replaced":
            bench.write({"other": how[:3].encode()})
            os.replace(bench.path("other"), bench.path("a"))
        os.utime(bench.path("a"), ns=(status.st_atime_ns, status.st_mtime_ns))
        assert os.stat(bench.path("a")).st_mtime_ns == status.st_mtime_ns
        if how == "while nobody watches":
            bench.open()
        now = bench.track()
        assert now != then
        bench.restore(then)
        assert bench.read()["a"] == b"one"
        bench.restore(now)
        assert bench.read()["a"] == how[:3].encode()


@pytest.mark.hazard(18)
@pytest.mark.parametrize("watcher", ["auto", "none"])
def test_mtime_set_back_by_years(build: Build, watcher: WatcherSetting) -> None:
    bench = build({"a": b"one"}, watcher=watcher)
    os.utime(bench.path("a"), (1e9, 1e9))
    then = bench.track()
    bench.close()
    bench.write({"a": b"two"})
    os.utime(bench.path("a"), (1e9, 1e9))
    bench.open()
    assert bench.track() != then
    bench.restore(then)
    assert bench.read()["a"] == b"one"


@pytest.mark.hazard(23)
def test_empty_directories_exec_bits_and_modes(build: Build) -> None:
    """A mode is 644 or 755; what a file had of others comes back only by that (documented)."""
    bench = build({"empty/deep/": None, "run": Executable(b"1"), "plain": b"2", "none": b"3"})
    os.chmod(bench.path("none"), 0)
    taken = bench.take()
    if os.geteuid() == 0:
        # whom permissions do not bind, reads it
        assert _skipped(taken) == {}
    else:
        assert _skipped(taken) == {"none": SkipReason.UNREADABLE}
    before = look(bench.root)
    os.chmod(bench.path("run"), 0o644)
    os.chmod(bench.path("plain"), 0o755)
    os.rmdir(bench.path("empty/deep"))
    bench.restore(taken.tree)
    assert os.stat(bench.path("run")).st_mode & 0o777 == 0o755
    assert os.stat(bench.path("plain")).st_mode & 0o777 == 0o644
    assert bench.read()["empty/deep/"] is None
    # nobody asked for another mode of this one
    assert "none" not in touched(before, bench.root)


@pytest.mark.hazard(24)
def test_a_read_only_directory_stops_what_is_in_it_and_nothing_else() -> None:
    with without_rights() as folder:
        then: Items = {"a": b"1", "locked/b": b"1", "locked/gone": b"1"}
        bench = make(folder, then)
        tree = bench.track()
        bench.write({"a": b"2", "locked/b": b"2", "locked/new": b"2", "x": b"2"})
        bench.remove("locked/gone")
        os.chmod(bench.path("locked"), 0o555)
        before = look(bench.root)
        said = outcomes(bench.restore(tree))
        assert said == {
            "a": "restored",
            "x": "deleted",
            "locked/b": "failed:EACCES",
            "locked/new": "failed:EACCES",
            "locked/gone": "failed:EACCES",
        }
        assert touched(before, bench.root) == {"a", "x"}
        os.chmod(bench.path("locked"), 0o755)
        bench.restore(tree)
        assert bench.read() == then


@pytest.mark.hazard(24)
@needs_root
def test_an_immutable_file_stays_and_the_others_are_done(build: Build) -> None:
    then: Items = {"a": b"1", "fixed": b"1", "z": b"1"}
    bench = build(then)
    tree = bench.track()
    bench.write({"a": b"2", "fixed": b"2", "z": b"2", "d/new": b"2"})
    fixed = [bench.path("fixed"), bench.path("d/new")]
    if not done("chattr", "+i", *fixed):
        pytest.skip("this file system has no immutable files")
    try:
        before = look(bench.root)
        said = outcomes(bench.restore(tree))
        assert said == {"a": "restored", "z": "restored", "fixed": "failed:EPERM", "d/new": "failed:EPERM"}
        assert touched(before, bench.root) == {"a", "z"}
    finally:
        assert done("chattr", "-i", *fixed)
    # at the first try: nothing tells a watcher that the file may be changed again
    assert outcomes(bench.restore(tree)) == {"fixed": "restored", "d/new": "deleted"}
    assert bench.read() == {**then, "nested/inner": b"inner\n"}


@pytest.mark.hazard(25)
@needs_root
@pytest.mark.parametrize("when", ["before it is opened", "while it is open"])
def test_a_mount_point_inside_is_not_crossed(build: Build, when: str) -> None:
    bench = build({"a": b"1", "m/b": b"under it", "m/c/d": b"under it"})
    whole = bench.track()
    if when == "before it is opened":
        bench.close()
    with mounted(bench.root / "m", "-t", "tmpfs", "hazard"):
        (bench.root / "m" / "theirs").write_bytes(b"of another disk")
        (bench.root / "m" / "b").write_bytes(b"of another disk")
        if when == "before it is opened":
            bench.open()
        taken = bench.take()
        assert Skip(b"m", SkipReason.SPECIAL) in taken.skipped
        assert bench.names(taken.tree) == ["a", "nested/inner"]
        before = contents(bench.root / "m")
        bench.write({"a": b"2"})
        for tree in (whole, taken.tree):
            said = outcomes(bench.restore(tree))
            assert not [name for name in said if name.startswith("m") and said[name] in ("restored", "deleted")]
            assert contents(bench.root / "m") == before
            assert (bench.root / "a").read_bytes() == b"1"
    bench.restore(whole)
    assert bench.read() == {"a": b"1", "m/b": b"under it", "m/c/d": b"under it", "nested/inner": b"inner\n"}


@pytest.mark.hazard(29)
def test_unchanged_files_keep_inode_and_mtime(build: Build) -> None:
    items = {f"d{at % 5}/f{at}": b"%d" % at for at in range(50)}
    bench = build(items)
    for at in range(50):
        os.utime(bench.path(f"d{at % 5}/f{at}"), (1e9 + at, 1e9 + at))
    then = bench.track()
    bench.write({"d1/f1": b"changed", "new": b""})
    bench.remove("d2/f2")
    before = look(bench.root)
    bench.restore(then)
    assert touched(before, bench.root) == {"d1/f1", "d2/f2", "new"}
    bench.restore(then)
    assert touched(before, bench.root) == {"d1/f1", "d2/f2", "new"}
