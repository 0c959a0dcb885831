"""File systems that this process alone sees: they go with it, and nothing is left in anybody's mount table."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys

_NEW_MOUNTS = 0x00020000
_RECURSIVE_PRIVATE = 0x4000 | 0x40000

_libc = ctypes.CDLL(None, use_errno=True)


def missing() -> str | None:
    """Why that cannot be done here, if it cannot."""
    if not sys.platform.startswith("linux"):
        return "mounts of one's own are of Linux"
    if os.geteuid() != 0:
        return "only root may mount"
    pid = os.fork()
    if pid == 0:
        try:
            apart()
        except OSError:
            os._exit(1)
        os._exit(0)
    return None if os.waitpid(pid, 0)[1] == 0 else "this process may not have mounts of its own"


def missing_images() -> str | None:
    """Why no file can be mounted here as a disk, if none can."""
    if shutil.which("mkfs.ext4") is None:
        return "mkfs.ext4 is not installed"
    return missing() or (None if os.path.exists("/dev/loop-control") else "there are no loop devices")


def apart() -> None:
    """Has what this process mounts from here on be seen by itself and its children alone."""
    if _libc.unshare(_NEW_MOUNTS):
        raise OSError(ctypes.get_errno(), "unshare")
    if _libc.mount(b"none", b"/", None, _RECURSIVE_PRIVATE, None):
        raise OSError(ctypes.get_errno(), "mount")


def mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True, stdin=subprocess.DEVNULL)


def unmount(path: str) -> None:
    subprocess.run(["umount", path], check=True, stdin=subprocess.DEVNULL)


def make_image(path: str, megabytes: int) -> None:
    """A file with an empty ext4 in it."""
    with open(path, "wb") as file:
        file.truncate(megabytes << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", path], check=True)


def mount_image(image: str, where: str) -> None:
    """Mounts it; what is not synced is not written for minutes."""
    mount("-o", "loop,commit=300", image, where)


def sync(path: str) -> None:
    """Writes all of one file system."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        if _libc.syncfs(descriptor):
            raise OSError(ctypes.get_errno(), "syncfs")
    finally:
        os.close(descriptor)
