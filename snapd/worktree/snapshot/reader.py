"""Reads, hashes and stores the unread files, in processes if there are many: threads wait for the interpreter lock."""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from typing import NamedTuple, TypeVar

import attrs

from snapd.failpoints import failpoint
from snapd.model.call import Call
from snapd.model.errors import error_from_os_error
from snapd.model.snapshot import ObjectId, RelPath, SkipReason
from snapd.store.object_store import ObjectBatch
from snapd.workers.processes import ChildProcess, WorkerLost, WorkerPool
from snapd.worktree.fs.directories import Directories
from snapd.worktree.fs.stable_read import STREAM_FROM, read_link, read_stable
from snapd.worktree.state.file_state import Record, make_record, oid_of
from snapd.worktree.state.nodes import DirectoryNode
from snapd.worktree.state.tree_state import TreeState

from .reader_process import ANSWER, DIRECTORY, NAME, UNREAD
from .walker import GONE

_Piece = tuple[DirectoryNode, RelPath, list[tuple[bytes, bool]]]
_Asked = tuple[DirectoryNode, RelPath, bytes]
_Readings = Generator[tuple[DirectoryNode, list["Read"]], None, None]


T = TypeVar("T")

FILES_TOGETHER = 16  # files of a directory per request: with more, one process may get all of them
_AHEAD = 256  # files in flight per process


class ReadFile(NamedTuple):
    """A file that was read: its record for the state, and its blob as the batch stores it."""

    record: Record
    packed: bytes


class ReaderPool(WorkerPool[T, "ReadFile | None"]):
    """Processes that read files below `root`; the answer None is a file that the caller must read itself.

    `packing` names the module whose `packed_blob` turns bytes into an id and the stored form.
    """

    def __init__(self, root: int, limit: int, packing: str) -> None:
        def start() -> ChildProcess:
            argument = f"{root} {limit} {packing}"
            return ChildProcess("snapd.worktree.snapshot.reader_process", argument, share=[root], is_quiet=True)

        super().__init__(os.cpu_count() or 2, start, _decode, _AHEAD)

    def read_files(self, path: RelPath, files: Sequence[tuple[bytes, T]]) -> None:
        """Requests up to `FILES_TOGETHER` files of a directory, each with a tag for its result; raises `WorkerLost`."""
        names = [NAME.pack(len(name)) + name for name, _ in files]
        self.ask(b"".join((DIRECTORY.pack(len(path), len(files)), path, *names)), [tag for _, tag in files])


def _decode(data: bytes, at: int) -> tuple[ReadFile | None, int] | None:
    start = at + ANSWER.size
    if start > len(data):
        return None
    record, length = ANSWER.unpack_from(data, at)
    end = start + length
    if end > len(data):
        return None
    return (None if data[at:start] == UNREAD else ReadFile(record, data[start:end])), end


logger = logging.getLogger(__name__)

WORTH_HELP = 2000  # from this many files on, processes pay off
_POLL_SECONDS = 0.1  # how soon a cancelled request stops waiting

Read = tuple[bytes, "Record | SkipReason | None"]
"""A name with its record, or why the file cannot be captured, or None if it is gone."""


@attrs.frozen
class Reader:
    """Reads files of one work tree, of at most `limit` bytes, for one request; `batch` stores their contents."""

    root: int
    limit: int
    batch: ObjectBatch
    call: Call

    def read_all(self, state: TreeState) -> _Readings:
        """Reads the unread files; yields directories with results. On errors, the batch has what was yielded so far."""
        pieces: deque[_Piece] = deque()
        total = 0
        for node, names in state.unread.items():
            path = state.path_of(node)
            assert path is not None
            items = list(names.items())
            total += len(items)
            pieces += [(node, path, items[at : at + FILES_TOGETHER]) for at in range(0, len(items), FILES_TOGETHER)]
        done = 0
        with Directories(self.root) as directories, closing(self._read_pieces(directories, pieces, total)) as readings:
            for node, files in readings:
                self.call.progress("hashing", done, total)
                yield node, files
                done += len(files)

    def _read_pieces(self, directories: Directories, pieces: deque[_Piece], total: int) -> _Readings:
        if total >= WORTH_HELP:
            try:
                readers: ReaderPool[_Asked] = ReaderPool(self.root, self.limit, self.batch.packing)
            except OSError as error:
                logger.warning("cannot start processes that read files, this process reads them: %s", error)
            else:
                with closing(readers):
                    yield from self._read_by(readers, directories, pieces)
        # all files, or those without an answer from the processes
        for node, path, items in pieces:
            yield node, self._read(directories, path, items)

    def _read_by(self, readers: ReaderPool[_Asked], directories: Directories, pieces: deque[_Piece]) -> _Readings:
        """Has processes read the regular files, and reads symlinks and what the processes cannot read itself."""
        try:
            while pieces or readers.is_waiting:
                while pieces and readers.has_room:
                    node, path, items = pieces.popleft()
                    links = [item for item in items if item[1]]
                    if links:
                        yield node, self._read(directories, path, links)
                    if len(links) < len(items):
                        files = [(name, (node, path, name)) for name, is_link in items if not is_link]
                        readers.read_files(path, files)
                self.call.check()
                for (node, path, name), answer in readers.answers(_POLL_SECONDS):
                    if answer is None:
                        yield node, self._read(directories, path, [(name, False)])
                    else:
                        self.batch.add_packed_blob(oid_of(answer.record), answer.packed)
                        yield node, [(name, answer.record)]
        except WorkerLost as error:
            logger.warning("a process that reads files failed (%s): this process reads them", error)
            pieces.extendleft((node, path, [(name, False)]) for node, path, name in readers.unanswered())

    def _read(self, directories: Directories, path: RelPath, items: Iterable[tuple[bytes, bool]]) -> list[Read]:
        try:
            failpoint("capture.open")
            descriptor = directories.open(path)
        except OSError as error:
            if error.errno not in GONE:
                raise error_from_os_error(error, path or b".") from error
            return [(name, None) for name, _ in items]
        results: list[Read] = []
        for name, is_link in items:
            self.call.check()
            try:
                failpoint("capture.read")
                results.append((name, self._read_one(descriptor, name, is_link)))
            except OSError as error:
                if error.errno not in GONE:
                    raise error_from_os_error(error, path + b"/" + name if path else name) from error
                results.append((name, None))
        return results

    def _read_one(self, directory: int, name: bytes, is_link: bool) -> Record | SkipReason:
        if is_link:
            result = read_link(directory, name, self._store)
        else:
            result = read_stable(directory, name, self.limit, self._store)
        if isinstance(result, SkipReason):
            return result
        oid, signature, racy = result
        return make_record(signature, oid, racy)

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
