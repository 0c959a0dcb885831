"""Named places at which tests have something go wrong: a kill, an error of the system, somebody else who comes between.

A place is one line, `failpoint("journal.sync")`, right before what it is named after. Nothing in snapd can arm one: a
test, which is Python itself, gives `listener` a value in its own process. So in a daemon or a command that somebody
runs a failpoint is a call that compares with None (some 50 ns), and no variable, setting or message changes that.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SYSTEM: Mapping[str, str] = MappingProxyType(
    {
        # the store: whole files
        "durable.write": "a file is made aside, to replace another",
        "durable.sync": "its bytes are synced",
        "durable.rename": "it takes its name",
        "durable.names": "the names in a directory are synced",
        "durable.settle": "a file that was placed unsynced is synced",
        "durable.mkdir": "a directory is made",
        "ownership.lock": "the store is locked for this process",
        # the journal
        "journal.begin": "a new journal file is made",
        "journal.append": "a frame is written",
        "journal.sync": "the frame is synced: with it the snapshot is there",
        "journal.take_back": "a frame that could not be placed is written over",
        "journal.remove": "a journal file goes, all of it being in the repository",
        "journal.replay": "a journal file that a crash left is read",
        # references
        "refdb.write": "a reference is locked, and its next target written",
        "refdb.move": "it moves",
        "refdb.delete": "a reference is locked, to be removed",
        # objects
        "loose.place": "a loose object is made aside",
        "loose.name": "it takes its name",
        "loose.stream": "a large loose object is made aside",
        "loose.chunk": "a piece of it is written",
        "loose.sync": "its bytes are synced",
        "pack.begin": "a pack is made aside",
        "pack.add": "an object is written to it",
        "pack.seal": "its bytes are synced",
        "pack.index": "its index is made aside",
        "pack.rename": "the pack takes its name",
        "pack.rename_index": "its index takes its name: with it the objects are there",
        # objects of the user's own git
        "adopt.link": "a file of the user's git is linked",
        "adopt.copy": "it is copied",
        "adopt.sync": "the pack that is ours now is synced",
        "adopt.rename": "the pack takes its name",
        "adopt.rename_index": "its index takes its name",
        "adopt.loose": "a loose object that is ours now is synced",
        # the timeline
        "intent.read": "what was about to be done is read",
        "intent.forget": "what was about to be done is done with",
        "seal.write": "the database is said to be as it should",
        "seal.fresh": "an empty database is put in place of the one that is there",
        # expiry and maintenance
        "expire.summaries": "what git made of commits and packs goes",
        "expire.pack": "a pack goes, or is written anew without what nothing holds",
        "expire.loose": "a loose object that nothing holds goes",
        "packer.start": "the process that packs is started",
        "packing.find": "it lists what could be packed",
        "packing.check": "it looks at the pack that it wrote",
        "consolidate.directory": "a directory for a new pack is made",
        "consolidate.sync": "the new pack is synced",
        "consolidate.rename": "the new pack, then its index, takes its name",
        "consolidate.drop_pack": "a file of a pack goes that is in the new one",
        "consolidate.drop_loose": "a loose object goes that is in the new one",
        "consolidate.tidy": "what is empty or without an index goes",
        # the work tree
        "capture.open": "a directory of files to be read is opened",
        "capture.read": "a file is read",
        "memory.save": "what is known of the work tree is written aside",
        "memory.rename": "it takes its name",
        "memory.load": "what an earlier process knew is read",
        "apply.stage": "a directory is opened for a file written aside",
        "apply.write": "a file is written aside",
        "apply.sync": "its bytes are synced",
        "apply.delete": "a file is about to go",
        "apply.deleted": "it was moved aside, and is about to be gone",
        "apply.remove_directory": "a directory goes",
        "apply.make_directory": "a directory is made",
        "apply.move": "a file is about to be moved into place",
        "apply.exchange": "the file that is there and the new one are swapped",
        "apply.exchanged": "the old one is aside, and is about to go",
        "apply.names": "the names in a directory of the work tree are synced",
        "leftovers.clear": "a file goes that a dead operation had aside",
    }
)
"""Where the system is about to be asked for something: it may refuse, and the process may die."""

DATABASE: Mapping[str, str] = MappingProxyType(
    {
        "database.add": "an event is taken into the database",
        "database.commit": "it stays there",
        "database.drop": "the events of dropped sessions leave it",
    }
)
"""Where SQLite is about to be asked for something."""

STEPS: Mapping[str, str] = MappingProxyType(
    {
        "writer.settle": "an operation that was cut short is about to be ended",
        "writer.swept": "what it had aside is gone",
        "writer.before": "the snapshot before an operation is about to be recorded",
        "writer.intend": "it is, and the intent is about to be kept",
        "writer.apply": "the intent is there, and the work tree about to be changed",
        "writer.conclude": "the work tree is changed",
        "writer.tell": "the work tree was looked at, and the timeline is about to be told",
        "writer.forget": "the timeline was told, and the intent is about to go",
        "writer.tracked": "a snapshot that a step names is durable, and nobody was told",
        "apply.commit": "all new files are aside, and none is in place",
        "capture.trees": "the files are read, and the trees about to be made",
        "capture.commit": "all objects of a snapshot wait to be stored",
        "capture.taken": "they are, and the snapshot is not recorded",
        "log.append": "a snapshot is about to be recorded",
        "log.appended": "it is durable, and nobody was told",
        "log.rewrite": "a day of snapshots is about to be written anew",
        "timeline.attach": "an event is durable, and the database not told",
        "journal.settle": "what a journal file stands for is about to be made durable",
        "expire.timeline": "the journal is empty, and sessions are about to expire",
        "expire.log": "they have, and snapshots are about to expire",
        "expire.mark": "references went, and objects are about to",
        "consolidate.drop": "the new pack is there, and what it replaces about to go",
        "store.close": "the store is about to be closed",
    }
)
"""Between two of those: nothing can fail there, but the process may die, or others come between."""

POINTS: Mapping[str, str] = MappingProxyType({**SYSTEM, **DATABASE, **STEPS})
"""All of them: their names, and what is about to be done."""

listener: Callable[[str], None] | None = None
"""Called with the name of each that is come to, in whatever thread; for tests alone."""


def failpoint(name: str) -> None:
    """Comes to a place of `POINTS`: does nothing, unless a test listens.

    Raises:
        OSError: as the listener has it.
    """
    if listener is not None:
        listener(name)
