"""Reads the files that differ from what is remembered, hashes and stores them, with all cores where there are many."""

from __future__ import annotations

import itertools
import os
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING

import attrs

from snapd.core.errors import from_os_error
from snapd.core.model import SkipReason
from snapd.failpoints import failpoint

from .directories import open_directory
from .disk import STREAM_FROM, read_link, read_stable
from .look import GONE
from .records import make_record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from snapd.core.call import Call
    from snapd.core.model import ObjectId, RelPath, Signature

    from .memory import Memory
    from .nodes import DirectoryNode
    from .records import Record
    from .scan import Batch

    _Chunk = list[tuple[DirectoryNode, RelPath, list[tuple[bytes, bool]]]]

_AT_A_TIME = 16
_PARALLEL_FROM = 1000
"""Files; threads that take turns at the interpreter lock read 100 of them (19 KB each) in 25 ms, one alone in 15."""

Read = tuple[bytes, "Record | SkipReason | None"]
"""A name and what became of it: its record, why it cannot be captured, or None where it is gone."""


@attrs.frozen
class Reader:
    """Reads files of one work tree for one request.

    Attributes:
        root: descriptor of the workspace.
        limit: bytes; larger files are not captured.
        batch: where their bytes go.
        call: the request.
    """

    root: int
    limit: int
    batch: Batch
    call: Call

    def read_all(self, memory: Memory) -> Iterator[tuple[DirectoryNode, list[Read]]]:
        """Reads what the memory has down as unread.

        Yields:
            A directory and what became of some of its files.

        Raises:
            IoError, StorageFull, Cancelled: what was yielded so far is in the batch.
        """
        chunks: list[_Chunk] = [[]]
        room = _AT_A_TIME
        total = 0
        for node, names in memory.unread.items():
            path = memory.path_of(node)
            assert path is not None
            items = list(names.items())
            total += len(items)
            while items:
                if not room:
                    chunks.append([])
                    room = _AT_A_TIME
                chunks[-1].append((node, path, items[:room]))
                items, room = items[room:], max(0, room - len(items))
        done = 0
        if total < _PARALLEL_FROM:
            for node, path, items in itertools.chain(*chunks):
                self.call.progress("hashing", done, total)
                yield node, self._read(path, items)
                done += len(items)
            return
        # hashing and compression let go of the interpreter lock
        with ThreadPoolExecutor(os.cpu_count() or 2, thread_name_prefix="snapd-read") as pool:
            futures = [pool.submit(self._read_chunk, chunk) for chunk in chunks]
            try:
                for future in as_completed(futures):
                    for node, found in future.result():
                        yield node, found
                        done += len(found)
                    self.call.progress("hashing", done, total)
            except BaseException:
                for future in futures:
                    future.cancel()
                raise

    def _read_chunk(self, chunk: _Chunk) -> list[tuple[DirectoryNode, list[Read]]]:
        return [(node, self._read(path, items)) for node, path, items in chunk]

    def _read(self, path: RelPath, items: Iterable[tuple[bytes, bool]]) -> list[Read]:
        try:
            failpoint("capture.open")
            descriptor = open_directory(self.root, path)
        except OSError as error:
            if error.errno not in GONE:
                raise from_os_error(error, path or b".") from error
            return [(name, None) for name, _ in items]
        found: list[Read] = []
        try:
            for name, is_link in items:
                self.call.check()
                try:
                    failpoint("capture.read")
                    found.append((name, self._read_one(descriptor, name, is_link)))
                except OSError as error:
                    if error.errno not in GONE:
                        raise from_os_error(error, path + b"/" + name if path else name) from error
                    found.append((name, None))
        finally:
            os.close(descriptor)
        return found

    def _read_one(self, directory: int, name: bytes, is_link: bool) -> Record | SkipReason:
        if is_link:
            found = read_link(directory, name, self._store)
        else:
            found = read_stable(directory, name, self.limit, self._store)
        return found if isinstance(found, SkipReason) else _record(*found)

    def _store(self, size: int, chunks: Iterator[bytes]) -> ObjectId:
        if size >= STREAM_FROM:
            return self.batch.blob_stream(size, self._checked(chunks))
        data = b"".join(chunks)
        if len(data) != size:
            raise ValueError(f"{len(data)} bytes instead of {size}")
        return self.batch.blob(data)

    def _checked(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self.call.check()
            yield chunk


def _record(oid: ObjectId, seen: Signature, racy: bool) -> Record:
    return make_record(seen, oid, racy)
