"""Where the tests put their files: in memory where there is room, since most of them would only wait for a disk.

A process that is killed loses nothing that the system holds, in memory or not, and power is cut on images of disks
(`tests/faults`). What holds on a disk need not hold in memory, though: some tests stay there, and say so (`on_disk`,
`DISK`). `TMPDIR=/tmp make test` has all of them there.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

DISK = "/tmp"
MEMORY = "/dev/shm"
ROOM = 1 << 30
"""Several times what the tests keep at a time: other tests may run beside them."""


def choose(memory: str = MEMORY) -> str:
    """The folder that the tests work in: memory that has room and lets programs run, if nobody chose another."""
    if "TMPDIR" in os.environ or not os.access(memory, os.W_OK):
        return DISK
    may_run = not os.statvfs(memory).f_flag & os.ST_NOEXEC
    return memory if may_run and shutil.disk_usage(memory).free >= ROOM else DISK


base = choose()


def make_folder(prefix: str) -> Path:
    """A new folder under a short path: that of a socket may not have many bytes."""
    return Path(tempfile.mkdtemp(prefix=prefix, dir=base)).resolve()


def bare_environment(above: Path) -> dict[str, str]:
    """The variables of a user whose folders are below a folder, and who has nothing of this machine's user.

    Args:
        above: has `bin`, `home`, `runtime` and `tmp`, or will have them.
    """
    home = above / "home"
    folders = [os.path.dirname(found) for name in ("git", "node") if (found := shutil.which(name))]
    return {
        "PATH": os.pathsep.join(dict.fromkeys([str(above / "bin"), *folders, "/usr/local/bin", "/usr/bin", "/bin"])),
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local/share"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_STATE_HOME": str(home / ".local/state"),
        "XDG_RUNTIME_DIR": str(above / "runtime"),
        "TMPDIR": str(above / "tmp"),
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "NO_PROXY": "127.0.0.1,localhost",
    }
