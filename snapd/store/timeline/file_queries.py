"""The queries of a timeline for comments, files and snapshots; and all of its queries together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import Any, Literal

from snapd.model.snapshot import ObjectId, RelPath
from snapd.model.snapshot_records import SnapshotRecord, SnapshotRecordQuery
from snapd.model.timeline import (
    Comment,
    Commented,
    CommentId,
    CommentState,
    FileChangeRow,
    FileLook,
    Replied,
    SessionId,
    SnapshotId,
)

from .converter import read_file
from .queries import AFTER_ALL, NOT_A_SNAPSHOT, EventQueries, OperationQueries, Queries, SessionQueries, bounds_of_trees

UNLISTED = f"""
SELECT seq FROM events WHERE seq > (SELECT COALESCE(MAX(seq), 0) FROM listed) AND {NOT_A_SNAPSHOT} ORDER BY seq LIMIT ?
"""  # noqa: S608 - the name is a constant
TAKEN = "SELECT * FROM snapshots "
REMARKS = """
SELECT
    (SELECT COUNT(*) FROM comments WHERE state = 'open'),
    MAX(COALESCE((SELECT MAX(seq) FROM comments), 0), COALESCE((SELECT MAX(seq) FROM replies), 0)),
    COALESCE((SELECT MAX(delivered) FROM comments), 0)
"""
TAKEN_UNTIL = "WHERE place > 0 AND place < ? AND milliseconds <= ? ORDER BY place DESC LIMIT ?"
TAKEN_BEGINNING = """
WHERE tree BETWEEN ? AND ? AND place < ?
    AND place = (SELECT MAX(place) FROM snapshots AS newer WHERE newer.tree = snapshots.tree)
ORDER BY place DESC LIMIT ?
"""
_TOUCHED = "SELECT path, seq, part, old, new, other FROM touched "
_NAMES = 1000  # at once: SQLite takes no more than some thousand values
_TOUCHED_AGAIN = """
SELECT DISTINCT path FROM touched AS mine
WHERE seq IN (SELECT spans.seq FROM spans JOIN steps USING (step_id) WHERE {kind} IN ({names})) AND EXISTS (
    SELECT 1 FROM touched AS again WHERE again.path = mine.path AND again.seq >= ? AND again.seq < ?
    AND (again.seq, again.part) != (mine.seq, mine.part)
)
"""


class CommentQueries(EventQueries):
    """Queries for comments. One whose text was purged is in no list."""

    def comment(self, comment_id: CommentId) -> Comment | None:
        """Returns a comment by id."""
        return next(self._comments("WHERE comment_id = ?", comment_id), None)

    def comments(self, session_id: SessionId | None, state: CommentState | None, after: int) -> Iterator[Comment]:
        """Yields comments in their order, from the one after `after`, a `seq`: of a session and in a state, or all."""
        clause = "WHERE seq > ?1 AND (?2 IS NULL OR session_id = ?2) AND (?3 IS NULL OR state = ?3) ORDER BY seq"
        return self._comments(clause, after, session_id, state)

    def due_comments(self, session_id: SessionId) -> Iterator[Comment]:
        """Yields the open comments of which the agent of a session is to hear, those due longest first."""
        clause = "WHERE session_id = ? AND state = 'open' AND due IS NOT NULL ORDER BY due"
        return self._comments(clause, session_id)

    def remarks(self) -> tuple[int, int, int]:
        """Returns the number of open comments, the `seq` of the last one or reply, and when an agent was told last.

        The last two are 0 for none.
        """
        ((count, last, delivered),) = self._rows(REMARKS)
        return count, last, delivered

    def _comments(self, clause: str, *values: Any) -> Iterator[Comment]:
        rows = self._rows(f"SELECT comment_id, seq, state, due, delivered FROM comments {clause}", *values)  # noqa: S608
        for comment_id, seq, state, due, delivered in rows:
            with self._together():
                event = self.event(seq)
                ids = "SELECT seq FROM replies WHERE comment_id = ?"
                replies = self._events(f"WHERE seq IN ({ids}) ORDER BY seq", comment_id)
            if event is None or not isinstance(event.what, Commented) or state == "purged":
                continue
            texts = ((each.what, each.milliseconds) for each in replies if isinstance(each.what, Replied))
            written = tuple(pair for pair in texts if pair[0].text)
            yield Comment(seq, event.what, event.milliseconds, state, due, delivered, written)


class FileQueries(Queries):
    """Queries for the files that each event changed.

    They follow from the snapshots of the events, so they never change. No step should wait for the comparison: a caller
    that needs the files lists them first, event by event, in order.
    """

    def unlisted(self, most: int) -> tuple[int, ...]:
        """Returns the `seq` of up to `most` events whose files are not listed yet, oldest first; see `list_files`."""
        return tuple([seq for (seq,) in self._rows(UNLISTED, most)])

    def touched_of(self, path: RelPath, before: int, after: int = 0) -> tuple[FileChangeRow, ...]:
        """Returns what the listed events between `after` and `before`, both exclusive, did to a file, oldest first."""
        return self._touched("WHERE path = ? AND seq > ? AND seq < ? ORDER BY seq, part DESC", path, after, before)

    def touched_again(
        self, first: int, last: int, kind: Literal["step_id", "session_id"], names: Iterable[str]
    ) -> frozenset[RelPath]:
        """Returns the files that events of some steps changed, and another event from `first` to before `last`, too.

        The steps are those with these names, or those of the sessions with these names. All are listed events.
        """
        paths: set[RelPath] = set()
        remaining = iter(names)
        while some := tuple(islice(remaining, _NAMES)):
            statement = _TOUCHED_AGAIN.format(kind=kind, names=", ".join("?" * len(some)))
            paths.update(path for (path,) in self._rows(statement, *some, first, last))
        return frozenset(paths)

    def touched_by_name(self, paths: Collection[RelPath], first: int, last: int) -> list[FileChangeRow]:
        """Returns what the listed events from `first` to before `last` did to some files, in order.

        Of a file that was moved, it returns both names.
        """
        rows = [row for path in paths for row in self.touched_of(path, last, first - 1)]
        rows += [
            there
            for row in rows
            if row.other is not None and row.other not in paths
            for there in self.touched_of(row.other, row.seq + 1, row.seq - 1)
            if there.part == row.part
        ]
        return sorted(set(rows), key=lambda row: (row.seq, row.part == "done", row.path))

    def looks_between(self, first: int, last: int) -> tuple[FileLook, ...]:
        """Returns the files that agents saw by the events from `first` to before `last`, in order."""
        rows = self._rows(
            "SELECT seq, session_id, path, until, entry FROM looks WHERE seq >= ? AND seq < ? ORDER BY seq", first, last
        )
        return tuple([FileLook(seq, name, path, until, read_file(entry)) for seq, name, path, until, entry in rows])

    def touched_since(self, seq: int) -> tuple[FileChangeRow, ...]:
        """Returns what the listed events after `seq` did, in order."""
        return self._touched("WHERE seq > ? ORDER BY seq, part DESC, path", seq)

    def _touched(self, clause: str, *values: Any) -> tuple[FileChangeRow, ...]:
        return tuple(
            [
                FileChangeRow(path, seq, part, read_file(old), read_file(new), other)
                for path, seq, part, old, new, other in self._rows(_TOUCHED + clause, *values)
            ]
        )


class SnapshotQueries(Queries):
    """Queries for the snapshots that events recorded."""

    def knows(self, tree: ObjectId) -> bool:
        """Whether there is a snapshot with this tree."""
        return self._value("SELECT 1 FROM snapshots WHERE tree = ? LIMIT 1", tree) is not None

    def taken_last(self, tree: ObjectId) -> SnapshotRecord | None:
        """Returns the newest snapshot with this tree; one from a mere look only if there is no other.

        A snapshot from a look may lack what an operation had to leave out, such as an empty directory.
        """
        with self._together():
            for which in ("(kind != 'look' OR is_base)", "TRUE"):
                for taken in self._taken(f"WHERE tree = ? AND {which} ORDER BY place DESC LIMIT 1", tree):
                    return taken
        return None

    @property
    def base(self) -> SnapshotRecord | None:
        """The newest snapshot that a client requested or that an operation left; see `Recorded.is_base`."""
        return next(iter(self._taken("WHERE is_base ORDER BY place DESC LIMIT 1")), None)

    def taken(self, wanted: SnapshotRecordQuery, below: int | None, limit: int) -> tuple[SnapshotRecord, ...]:
        """Lists up to `limit` snapshots, newest first; with `below`, only those with a lower `place`."""
        before = AFTER_ALL if below is None else below
        if wanted.prefix:
            return self._taken(TAKEN_BEGINNING, *bounds_of_trees(wanted.prefix), before, limit)
        until = AFTER_ALL if wanted.until is None else wanted.until * 1000 + 999
        return self._taken(TAKEN_UNTIL, before, until, limit)

    def taken_before(self, place: int) -> SnapshotRecord | None:
        """Returns the snapshot before a place; None for the first."""
        return next(iter(self._taken("WHERE place BETWEEN 1 AND ? ORDER BY place DESC LIMIT 1", place - 1)), None)

    def _taken(self, clause: str, *values: Any) -> tuple[SnapshotRecord, ...]:
        return tuple(
            [
                SnapshotRecord(place, seq, kind, SnapshotId(tree, coverage), milliseconds, bool(is_base), *names)
                for place, seq, kind, tree, coverage, milliseconds, is_base, *names in self._rows(
                    TAKEN + clause, *values
                )
            ]
        )


class TimelineQueries(SessionQueries, OperationQueries, CommentQueries, FileQueries, SnapshotQueries):
    """All queries of a timeline."""
