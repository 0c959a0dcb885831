"""Directories under watch, for tests of the clocks."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs
import pytest

from snapd.watch.clock import Clock, Marks


@attrs.define(eq=False)
class Spot:
    """A directory under watch."""

    name: str
    watch: int = -1


@contextmanager
def opened(folder: Path | str | bytes) -> Iterator[int]:
    """A descriptor of a directory."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def watch(clock: Clock, folder: Path | bytes, spot: Spot) -> Spot:
    """Has a directory watched as `spot`."""
    with opened(folder) as descriptor:
        clock.watch(descriptor, spot)
    return spot


def run_in_namespace(script: str, *arguments: str) -> None:
    """Runs a script that mounts something and prints `done`; that needs no privileges and leaves no mount."""
    namespace = ("unshare", "--user", "--map-root-user", "--mount")
    try:
        tried = subprocess.run((*namespace, "true"), capture_output=True, check=False, timeout=60)
    except FileNotFoundError:
        pytest.skip("there is no unshare here")
    if tried.returncode != 0:
        pytest.skip(f"no namespaces here: {tried.stderr.decode(errors='replace').strip()}")
    command = (*namespace, sys.executable, "-c", script, *arguments)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, check=False, timeout=60, env=environment)
    assert done.stdout == b"done\n", done.stderr.decode(errors="replace")[-2000:]


def names(marks: Marks) -> dict[str, set[bytes]]:
    """What is marked, by the name of the place; nothing may be everything."""
    assert not marks.everything
    return {place.name: found for place, found in marks.names.items() if isinstance(place, Spot)}
