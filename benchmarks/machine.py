"""Facts about the machine and the programs that a run was made with."""

from __future__ import annotations

import glob
import os
import platform
import subprocess
from importlib.metadata import version


def facts(directory: str) -> dict[str, str | int]:
    """What is to be known to compare a run with another.

    Args:
        directory: where the run works; its file system is told.
    """
    return {
        "cores": len(os.sched_getaffinity(0)),
        "cpu": _first("/proc/cpuinfo", "model name"),
        "memoryBytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "fileSystem": file_system(directory),
        "python": platform.python_version(),
        "git": _output(["git", "--version"]).removeprefix("git version "),
        "snapd": version("snapd"),
        "commit": _commit(),
    }


def file_system(path: str) -> str:
    """The type of the file system that a path lies on, with what makes its writes much slower or quicker."""
    path = os.path.realpath(path)
    mount, kind, options = "", "unknown", ""
    with open("/proc/self/mounts", encoding="utf-8", errors="replace") as file:
        for line in file:
            _, *result = line.split()
            if (path == result[0] or path.startswith(result[0].rstrip("/") + "/")) and len(result[0]) >= len(mount):
                mount, kind, options, *_ = result
    remarks = [kind]
    if kind == "ext4" and _has_no_journal(os.stat(path).st_dev):
        remarks.append("no journal")
    if "discard" in options.split(","):
        remarks.append("discard")
    return ", ".join(remarks)


def _has_no_journal(device: int) -> bool:
    """Whether the kernel lists no journal for a device; False where it lists none at all."""
    name = os.path.basename(os.path.realpath(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}"))
    journals = "/proc/fs/jbd2"
    return os.path.isdir(journals) and not glob.glob(f"{journals}/{glob.escape(name)}-*")


def _commit() -> str:
    """The commit of the checkout, with `+` where it has changes."""
    checkout = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    try:
        return _output(["git", "-C", checkout, "describe", "--always", "--dirty=+", "--exclude=*"])
    except subprocess.CalledProcessError:
        return "none"


def _first(path: str, key: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            name, _, value = line.partition(":")
            if name.strip() == key:
                return value.strip()
    return platform.machine()


def _output(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
