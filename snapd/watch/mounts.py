"""Which file systems tell of every change: those whose files nobody but this kernel writes."""

from __future__ import annotations

import os
import re
import select

# network file systems, and those that a program serves (fuse, 9p, virtiofs, vboxsf), change behind the kernel's back
_LOCAL = {"bcachefs", "btrfs", "erofs", "exfat", "ext2", "ext3", "ext4", "f2fs", "hfs", "hfsplus", "jfs", "nilfs2"}
_LOCAL |= {"ntfs", "ntfs3", "overlay", "ramfs", "reiserfs", "squashfs", "tmpfs", "udf", "ufs", "vfat", "xfs", "zfs"}


def file_system(descriptor: int) -> str | None:
    """The type of the file system that a descriptor is open on (proc_pid_mountinfo(5)); None where that is hidden."""
    try:
        mount = _field(f"/proc/self/fdinfo/{descriptor}", "mnt_id:")
        with open("/proc/self/mountinfo", "rb") as file:
            lines = file.read().splitlines()
    except OSError:
        return None
    for line in lines:
        before, _, after = line.partition(b" - ")
        if before.split(b" ", 1)[0] == mount:
            return os.fsdecode(after.split(b" ", 1)[0])
    return None


def tells_everything(file_system: str | None) -> bool:
    """Whether every change of a file there raises an event here."""
    return file_system in _LOCAL


class Mounts:
    """Notices that something was mounted or unmounted below a folder, which no event tells of. Linux alone.

    Args:
        root: the folder, absolute.

    Raises:
        OSError: there is no `/proc`.
    """

    def __init__(self, root: bytes) -> None:
        self._below = (root.rstrip(b"/") or b"") + b"/"
        # readable, in the sense of poll(2), whenever a mount comes or goes, anywhere
        self._descriptor = os.open("/proc/self/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
        self._known = self._read()

    def register(self, poll: select.poll) -> int:
        """Adds itself to what a poll waits for; gives the descriptor that it will name."""
        poll.register(self._descriptor, select.POLLPRI | select.POLLERR)
        return self._descriptor

    def changed(self) -> bool:
        """Whether what is mounted below the folder is not what it was when this was last asked."""
        before, self._known = self._known, self._read()
        return self._known != before

    def close(self) -> None:
        """Notices no more."""
        os.close(self._descriptor)

    def _read(self) -> frozenset[tuple[bytes, bytes]]:
        with open("/proc/self/mountinfo", "rb") as file:
            mounts = [line.split(b" ", 5) for line in file]
        points = ((mount[0], _ESCAPE.sub(_unescaped, mount[4])) for mount in mounts)
        return frozenset((number, point) for number, point in points if (point + b"/").startswith(self._below))


_ESCAPE = re.compile(rb"\\([0-7]{3})")


def _unescaped(found: re.Match[bytes]) -> bytes:
    return bytes((int(found[1], 8),))


def _field(path: str, name: str) -> bytes:
    with open(path, "rb") as file:
        for line in file:
            if line.startswith(name.encode()):
                return line.split()[1]
    return b""
