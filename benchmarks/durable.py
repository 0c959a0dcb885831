"""Where what must last is written first: a journal file, or SQLite. `python -m benchmarks.durable` compares both.

Both get the same steps: the objects and references that real snapshots of a small project made. Both end with the same
loose objects and references, which git finds. See docs/design/store.md for what follows from the figures.
"""

from __future__ import annotations

import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from snapd.library import Snapshot
from snapd.store.journal.frames import Frame, decode_frames
from snapd.store.journal.journal import FILE_FRAMES
from snapd.store.objects.loose import write_loose
from snapd.store.repository import ShadowRepository

_STEPS = 250
_ROUNDS = 4
Write = Callable[[Frame], None]


def main() -> None:
    """Prints a line for each way."""
    with tempfile.TemporaryDirectory(prefix="snapd-durable-") as folder:
        frames = _record(Path(folder))
        for name, begin in (
            ("journal", _journal),
            *((f"SQLite, pages of {size}", _sqlite(size)) for size in (1024, 4096)),
        ):
            seconds: list[float] = []
            before = _written()
            for turn in range(_ROUNDS):
                write = begin(os.path.join(folder, f"{name} {turn}"))
                for frame in frames:
                    started = time.perf_counter()
                    write(frame)
                    seconds.append(time.perf_counter() - started)
            size, calls = (now - then for now, then in zip(_written(), before, strict=True))
            *_, p99 = statistics.quantiles(seconds, n=100)
            print(
                f"{name:22} {size / len(seconds):8.0f} bytes, {calls / len(seconds):5.1f} writes; "
                f"median {statistics.median(seconds) * 1000:.2f} ms, p99 {p99 * 1000:.2f} ms"
            )


def _record(folder: Path) -> list[Frame]:
    """What snapshots of a project with 400 files, after an edit each, append to the journal."""
    for at in range(400):
        path = folder / "work" / f"d{at // 20}" / f"f{at % 20}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"line of {at}\n" * 40)
    with Snapshot(folder / "work", data_dir=folder / "data", in_process=True) as snapshots:
        snapshots.track()
        for number in range(_STEPS - 10):
            (folder / "work" / f"d{number % 20}" / "f7").write_text(f"edit {number}\n" * 30)
            snapshots.track()
        (path,) = folder.glob("data/**/journal/[0-9]*")
        return [frame for frame in decode_frames(path.read_bytes()) if len(frame.objects) > 1]


def _journal(path: str) -> Write:
    journal = ShadowRepository(path).journal

    def write(frame: Frame) -> None:
        journal.add(frame.objects)
        journal.flush(frame.references)

    return write


def _sqlite(page: int) -> Callable[[str], Write]:
    def begin(path: str) -> Write:
        repository = ShadowRepository(path)
        database = sqlite3.connect(os.path.join(path, "durable.db"), isolation_level=None)
        for pragma in (f"page_size = {page}", "locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = FULL"):
            database.execute(f"PRAGMA {pragma}")
        database.execute("CREATE TABLE objects (id BLOB PRIMARY KEY, data BLOB) WITHOUT ROWID")
        database.execute("CREATE TABLE refs (name TEXT PRIMARY KEY, id BLOB) WITHOUT ROWID")
        written = 0

        def write(frame: Frame) -> None:
            nonlocal written
            database.execute("BEGIN IMMEDIATE")
            database.executemany("INSERT OR IGNORE INTO objects VALUES (?, ?)", frame.objects.items())
            database.executemany("INSERT OR REPLACE INTO refs VALUES (?, ?)", frame.references.items())
            written += 1
            if written % FILE_FRAMES == 0:
                # the files that git finds are synced by then
                database.execute("DELETE FROM objects")
            database.execute("COMMIT")
            for oid, data in frame.objects.items():
                write_loose(repository.objects, oid, data)
            repository.references.move(frame.references)

        return write

    return begin


def _written() -> tuple[int, int]:
    """The bytes and the calls with which this process has written so far."""
    with open("/proc/self/io", encoding="ascii") as file:
        result = dict(line.split(": ") for line in file.read().splitlines())
    return int(result["wchar"]), int(result["syscw"])


if __name__ == "__main__":
    main()
