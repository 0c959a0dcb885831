"""Named points at which tests inject faults: a kill, a system error, a concurrent change.

A failpoint is one line, `failpoint("journal.sync")`, right before the action that it is named after. Only a test can
set `listener`, in its own process. Otherwise, a failpoint is a call that compares with None (some 50 ns); no variable,
setting or message changes that.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SYSTEM: Mapping[str, str] = MappingProxyType(
    {
        # the store: whole files
        "durable.write": "a file is written aside, to replace another",
        "durable.sync": "its bytes are synced",
        "durable.rename": "it takes its name",
        "durable.names": "the names in a directory are synced",
        "durable.settle": "a file that took its name unsynced is synced",
        "durable.mkdir": "a directory is made",
        "ownership.lock": "the store is locked for this process",
        # the journal
        "journal.begin": "a new journal file is made",
        "journal.append": "a frame is written",
        "journal.sync": "the frame is synced, with those before it: from then on the snapshot is durable",
        "journal.publish": "what was recorded is written to the repository",
        "journal.remove": "a journal file is removed, since the repository has all of it",
        "journal.replay": "a journal file that a crash left is read",
        # references
        "refs.write": "a reference is locked, and its new target written",
        "refs.move": "it moves",
        "refs.delete": "a reference is locked, to be removed",
        # objects
        "loose.place": "a loose object is written aside",
        "loose.name": "it takes its name",
        "loose.stream": "a large loose object is written aside",
        "loose.chunk": "a piece of it is written",
        "loose.sync": "its bytes are synced",
        "pack.begin": "a pack is begun aside",
        "pack.add": "an object is written to it",
        "pack.seal": "its bytes are synced",
        "pack.index": "its index is written aside",
        "pack.rename": "the pack takes its name",
        "pack.rename_index": "its index takes its name: from then on the objects can be read",
        # objects of the user's own git
        "adopt.link": "a file of the user's git is linked into the store",
        "adopt.copy": "it is copied",
        "adopt.sync": "the pack that is ours now is synced",
        "adopt.rename": "the pack takes its name",
        "adopt.rename_index": "its index takes its name",
        # the timeline
        "database.seal": "the digest of the database is written",
        "database.fresh": "an empty database replaces the current one",
        # expiry and maintenance
        "sweep.summaries": "git's summaries of commits and packs are removed",
        "sweep.pack": "a pack is removed, or rewritten without unreachable objects",
        "sweep.loose": "an unreachable loose object is removed",
        "packer.start": "the process that packs is started",
        "packing.find": "it lists the objects to pack",
        "packing.check": "it checks the pack that it wrote",
        "repack.directory": "a directory for a new pack is made",
        "repack.sync": "the new pack is synced",
        "repack.rename": "the new pack, then its index, takes its name",
        "repack.drop_pack": "a file of a pack that the new one replaces is removed",
        "repack.drop_loose": "a loose object that is in the new pack is removed",
        "repack.tidy": "empty directories and packs without an index are removed",
        # the work tree
        "capture.open": "a directory of files to be read is opened",
        "capture.read": "a file is read",
        "state.save": "the state of the work tree is written aside",
        "state.rename": "it takes its name",
        "state.load": "the state that an earlier process saved is read",
        "apply.stage": "a directory is opened for a file written aside",
        "apply.write": "a file is written aside",
        "apply.sync": "its bytes are synced",
        "apply.sync_all": "the bytes of all files written aside are synced",
        "apply.delete": "a file is about to be deleted",
        "apply.deleted": "it was moved aside, and is about to be unlinked",
        "apply.remove_directory": "a directory is removed",
        "apply.make_directory": "a directory is made",
        "apply.move_directory": "a directory is moved as a whole",
        "apply.move": "a file is about to be moved into place",
        "apply.exchange": "the old file and the new one are swapped",
        "apply.exchanged": "the old one is aside, and is about to be unlinked",
        "apply.names": "the names in a directory of the work tree are synced",
        "apply.names_all": "the names in all directories that changed are synced",
        "export.make_directory": "a directory of an export is made",
        "export.write": "a file of an export is written",
        "leftovers.clear": "a file that a killed operation left aside is removed",
    }
)
"""Before a system call: it may fail, or the process may die."""

DATABASE: Mapping[str, str] = MappingProxyType(
    {
        "database.add": "an event is taken into the database",
        "database.commit": "the transaction is committed",
        "database.write": "events are written to the file of the database",
        "database.drop": "the events of dropped sessions are deleted",
    }
)
"""Before a call of SQLite."""

STEPS: Mapping[str, str] = MappingProxyType(
    {
        "writer.settle": "an interrupted operation is about to be completed",
        "writer.swept": "the files that it left aside are removed",
        "writer.before": "the snapshot before an operation is about to be recorded",
        "writer.intend": "it is recorded, and the intent is about to be written",
        "writer.apply": "the intent is written, and the work tree is about to be changed",
        "writer.git": "the files are in place, and the project's git is about to be changed",
        "gitstate.remove": "the project's `.git` has no `HEAD` any more, and is about to be removed",
        "gitstate.rebuild": "a new `.git` has its objects, and no refs",
        "gitstate.refs": "git has all objects, and refs are about to be moved",
        "gitstate.head": "refs are moved, and `HEAD` is not",
        "gitstate.stash": "`HEAD` is moved, and the stash is as it was",
        "gitstate.operation": "the stash is done, and the files of an operation in progress are not",
        "gitstate.index": "all but the index is done",
        "writer.conclude": "the work tree is changed",
        "writer.tell": "the work tree was captured, and the event is about to be appended to the timeline",
        "writer.tracked": "a snapshot that a step names is durable, and no client knows",
        "apply.directory_moved": "a directory was moved as a whole, and is about to be looked at again",
        "apply.commit": "all new files are written aside, and none is in place",
        "capture.trees": "the files are read, and the trees are about to be computed",
        "capture.commit": "all objects of a snapshot wait to be stored",
        "capture.taken": "they are stored, and the snapshot is not recorded",
        "chain.rewrite": "a day of snapshots is about to be written without some of them",
        "mirror.take": "what was fetched was looked at, and its references are about to be made",
        "timeline.attach": "an event is durable, and not in the database",
        "journal.settle": "the contents of a journal file are about to be made durable in the repository",
        "sweep.timeline": "the journal is empty, and events are about to expire",
        "sweep.mark": "references are removed, and objects are about to be",
        "repack.drop": "the new pack is in place, and what it replaces is about to be removed",
        "store.close": "the store is about to be closed",
    }
)
"""Between such calls: nothing fails, but the process may die, or another process may change something."""

POINTS: Mapping[str, str] = MappingProxyType({**SYSTEM, **DATABASE, **STEPS})
"""All failpoints with the kind of action that follows."""

listener: Callable[[str], None] | None = None
"""Called with the name of each failpoint that is reached, in any thread; only for tests."""


def failpoint(name: str) -> None:
    """Reaches a failpoint of `POINTS`; raises what the test's listener raises."""
    if listener is not None:
        listener(name)
