from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from snapd.watch import inotify_clock
from snapd.watch.inotify_clock import Mounts, file_system, reports_all_changes
from tests.support.processes import descriptors
from tests.watch.places import opened, run_in_namespace

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mounts are told of on Linux alone")

IN_A_NAMESPACE = r"""
import os, subprocess, sys
from snapd.watch.clock import Marks
from snapd.watch.inotify_clock import InotifyClock
from snapd.watch.inotify_clock import file_system
from tests.watch.places import Spot, watch

root, beside = sys.argv[1:]
clock = InotifyClock(os.fsencode(root))
watch(clock, os.fsencode(root), Spot("root"))
clock.take()

def told():
    first = clock.take().everything
    assert clock.take() == Marks()
    return first

def run(*command):
    subprocess.run(command, check=True)

inner = os.path.join(root, "in \\ner\n")
run("mount", "-t", "tmpfs", "none", inner)
assert told()
descriptor = os.open(inner, os.O_RDONLY)
assert file_system(descriptor) == "tmpfs"
os.close(descriptor)
run("mount", "-t", "tmpfs", "none", beside)
assert not told()
run("umount", beside)
assert not told()
run("mount", "-t", "tmpfs", "none", inner)
assert told()
run("umount", inner)
assert told()
run("umount", inner)
assert told()
run("mount", "--bind", beside, inner)
assert told()
clock.close()
print("done")
"""


def test_a_mount_below_the_root_is_told(tmp_path: Path) -> None:
    # the kernel writes space, backslash and newline in octal; the name beside begins like the root's
    root, beside = tmp_path / "r oot\\040", tmp_path / "r oot\\040 beside"
    (root / "in \\ner\n").mkdir(parents=True)
    beside.mkdir()
    run_in_namespace(IN_A_NAMESPACE, str(root), str(beside))


@pytest.mark.parametrize(
    ("written", "name"),
    [
        (b"/a", b"/a"),
        (b"/a\\040b", b"/a b"),
        (b"/a\\011\\012\\134", b"/a\t\n\\"),
        (b"/a\\134040", b"/a\\040"),
        (b"/\xff\\377", b"/\xff\xff"),
    ],
)
def test_the_kernels_octal_escapes(written: bytes, name: bytes) -> None:
    assert inotify_clock.ESCAPE.sub(inotify_clock.unescaped, written) == name


def test_nothing_is_left_open(tmp_path: Path) -> None:
    before = descriptors()
    found = Mounts(os.fsencode(tmp_path))
    assert not found.changed()
    found.close()
    assert descriptors() == before


def test_which_file_systems_tell_everything() -> None:
    with opened("/proc/self") as descriptor:
        assert file_system(descriptor) == "proc"
    for local in ("ext4", "btrfs", "xfs", "tmpfs", "overlay", "zfs"):
        assert reports_all_changes(local)
    for other in (None, "", "nfs", "nfs4", "cifs", "smb3", "fuse", "fuseblk", "fuse.sshfs", "9p", "virtiofs", "vboxsf"):
        assert not reports_all_changes(other)


def test_a_file_system_that_is_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path) as descriptor:
        assert file_system(descriptor) is not None
        monkeypatch.setattr(inotify_clock, "field", lambda *_: b"")
        assert file_system(descriptor) is None
    monkeypatch.undo()
    assert file_system(descriptor) is None
