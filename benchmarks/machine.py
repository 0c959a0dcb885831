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
    device = mount = ""
    kind, options = "unknown", ""
    with open("/proc/self/mounts", encoding="utf-8", errors="replace") as file:
        for line in file:
            found = line.split()
            if (path == found[1] or path.startswith(found[1].rstrip("/") + "/")) and len(found[1]) >= len(mount):
                device, mount, kind, options, *_ = found
    remarks = [kind]
    # the kernel's thread for each journal of ext4 has a folder there
    if kind == "ext4" and not glob.glob(f"/proc/fs/jbd2/{glob.escape(os.path.basename(device))}-*"):
        remarks.append("no journal")
    if "discard" in options.split(","):
        remarks.append("discard")
    return ", ".join(remarks)


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
