"""Does the same work for many files at the same time: each waits for the disk, or for a server, by itself."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from snapd.core.plan import CapturedFile

PARALLEL_FROM = 16
"""From this many files on, threads are worth their start."""
_AT_ONCE = 8
_PIECE = 32
"""How many files a thread takes at a time: handing over each one by itself costs as much as many a system call."""

_T = TypeVar("_T")


def in_parallel(work: Callable[[_T], None], items: Sequence[_T], progress: Callable[[int], None]) -> None:
    """Does some work on each item, on many items in threads: a disk syncs eight files in the time of three.

    If one fails, or `progress` does, it starts no other and waits for those under way.

    Args:
        work: what to do; may be called from several threads.
        items: in the order in which they are begun.
        progress: called in this thread with the number of items done.

    Raises:
        BaseException: what `work` or `progress` raises.
    """
    if len(items) < PARALLEL_FROM:
        for done, item in enumerate(items):
            progress(done)
            work(item)
        return
    size = max(1, min(_PIECE, len(items) // (2 * _AT_ONCE)))
    pieces = [items[at : at + size] for at in range(0, len(items), size)]
    is_over = False

    def do(piece: Sequence[_T]) -> int:
        nonlocal is_over
        for item in piece:
            if is_over:
                break
            try:
                work(item)
            except BaseException:
                is_over = True
                raise
        return len(piece)

    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="snapd-apply") as pool:
        futures = [pool.submit(do, piece) for piece in pieces]
        done = 0
        try:
            for future in as_completed(futures):
                done += future.result()
                progress(done)
        except BaseException:
            is_over = True
            for future in futures:
                future.cancel()
            raise


def by_file(items: Iterable[_T], captured_of: Callable[[_T], CapturedFile | None]) -> list[list[_T]]:
    """Puts together what changes names of one file: each name that goes changes the file's ctime.

    A thread that compares the bytes of a file because its ctime changed must not see that happen again and again.

    Args:
        items: writes or deletes, in order.
        captured_of: gives the file that one replaces or deletes.
    """
    groups: list[list[_T]] = []
    known: dict[int, list[_T]] = {}
    for item in items:
        captured = captured_of(item)
        group = known.get(captured.signature.ino) if captured is not None else None
        if group is None:
            group = []
            groups.append(group)
            if captured is not None:
                known[captured.signature.ino] = group
        group.append(item)
    return groups
