"""Which file systems report every change: those whose files only this kernel writes."""

from __future__ import annotations

import os
import re
import select

# network file systems, and those that a program serves (fuse, 9p, virtiofs, vboxsf), can change without this kernel
_LOCAL = {"bcachefs", "btrfs", "erofs", "exfat", "ext2", "ext3", "ext4", "f2fs", "hfs", "hfsplus", "jfs", "nilfs2"}
_LOCAL |= {"ntfs", "ntfs3", "overlay", "ramfs", "reiserfs", "squashfs", "tmpfs", "udf", "ufs", "vfat", "xfs", "zfs"}


def file_system(descriptor: int) -> str | None:
    """The type of the file system that a descriptor is open on (proc_pid_mountinfo(5)); None if it cannot be read."""
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


def reports_all_changes(file_system: str | None) -> bool:
    """Whether every change of a file there raises an event."""
    return file_system in _LOCAL


class Mounts:
    """Notices mounts and unmounts below a folder, which raise no event. Linux only.

    Args:
        root: the folder, absolute.

    Raises:
        OSError: there is no `/proc`.
    """

    def __init__(self, root: bytes) -> None:
        self._below = (root.rstrip(b"/") or b"") + b"/"
        # poll(2) reports it whenever a mount comes or goes, anywhere
        self._descriptor = os.open("/proc/self/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
        self._known = self._read()

    def register(self, poll: select.poll) -> int:
        """Adds itself to a poll; returns the descriptor that the poll will report."""
        poll.register(self._descriptor, select.POLLPRI | select.POLLERR)
        return self._descriptor

    def changed(self) -> bool:
        """Whether the mounts below the folder have changed since the last call."""
        before, self._known = self._known, self._read()
        return self._known != before

    def close(self) -> None:
        """Stops."""
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
