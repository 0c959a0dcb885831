"""What a watcher of somebody else's hears of a restored file: editors read it again only where that makes sense."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from snapd.core.operations.runner import OperationOptions
from snapd.model.call import Call
from snapd.watch.queues import DELETE, MOVED_FROM, MOVED_TO, Inotify
from tests.support.workspace import make

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="inotify is of Linux")


def test_a_file_that_is_replaced_is_there_at_the_end(tmp_path: Path) -> None:
    """VS Code's watcher drops a file that came before it went."""
    bench = make(tmp_path, {"a.txt": b"1\n"})
    tree = bench.track()
    bench.write({"a.txt": b"2\n"})
    queue = Inotify()
    try:
        descriptor = os.open(bench.root, os.O_RDONLY | os.O_DIRECTORY)
        queue.add(descriptor)
        os.close(descriptor)
        assert bench.workspace.snapshots.restore(tree, OperationOptions("overwrite", True, False), Call()).applied
        heard = [event.mask & (MOVED_FROM | MOVED_TO | DELETE) for event in queue.read() if event.name == b"a.txt"]
    finally:
        queue.close()
    assert (bench.root / "a.txt").read_bytes() == b"1\n"
    moves = [mask for mask in heard if mask]
    assert moves
    assert moves[-1] == MOVED_TO
