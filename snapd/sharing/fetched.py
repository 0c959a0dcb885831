"""What was fetched, as the core lists and reads it, and the handovers that a folder made and took over."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

import attrs

from snapd.core.seams import SessionListing
from snapd.model.errors import InvalidParams
from snapd.model.handover import HandoverRecord
from snapd.store.notes import LINEAGE, Notes

from .formats import HANDOVERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from snapd.model.call import Call
    from snapd.remotes.program import GitProgram

    from .commits import ProjectCommits
    from .index import IndexedSession
    from .inspection import Limits
    from .mirror import FetchedHandover, Mirror
    from .signing import Checks


logger = logging.getLogger(__name__)

_KEPT = 32


@attrs.frozen
class LocalSide:
    """What this machine has for an exchange with one remote or file.

    `mirror` opens what was fetched from there; `borrowed` returns the `objects` directories of everything else that
    this machine has of the project.
    """

    git: GitProgram
    mirror: Callable[[], Mirror]
    borrowed: Callable[[], Sequence[str]]
    host: str
    project: ProjectCommits
    limits: Limits
    checks: Callable[[], Checks]


@attrs.frozen
class ListedSession(SessionListing):
    """A fetched session with its entry in the index."""

    indexed: IndexedSession

    @classmethod
    def of(cls, remote: str, indexed: IndexedSession) -> ListedSession:
        """Makes one of an entry and the address that it came from."""
        return cls(indexed.place, indexed.session, remote, indexed.host, indexed)


def chosen(
    where: str, mirror: Mirror, there: Iterable[str], name: str | None, checks: Checks, call: Call
) -> FetchedHandover:
    """Returns the handover `name`, or for None the only one that nobody took over yet, with its checked signature.

    `where` is the displayed remote or file; `there` has its references. Raises `InvalidParams` unless exactly one
    matches.
    """
    names = sorted(each.removeprefix(HANDOVERS) for each in there if each.startswith(HANDOVERS))
    matches = [mirror.handover(each) for each in names if name in (None, each)]
    fitting = [each for each in matches if each is not None and (name is not None or not each.handover.taken)]
    if len(fitting) == 1:
        reference = HANDOVERS + fitting[0].handover.name
        signature = mirror.signatures.of([reference]).get(reference)
        return (
            fitting[0] if signature is None else attrs.evolve(fitting[0], signature=checks.of(mirror, signature, call))
        )
    which = "that nobody took over" if name is None else repr(name)
    how_many = "several handovers" if fitting else "no handover"
    raise InvalidParams(
        f"name: {where} has {how_many} {which} (it has: {', '.join(names) or 'none'})",
        hint="name one of them" if names else "hand over there first, with 'snapd handover'",
        field="name",
    )


@attrs.frozen
class HandoverChain:
    """The last handovers of a folder, in the notes of its store."""

    notes: Notes

    def all(self) -> Sequence[HandoverRecord]:
        """Returns them, oldest first; raises `IoError`."""
        data = self.notes.get(LINEAGE)
        if data is None:
            return ()
        try:
            return tuple(
                HandoverRecord(
                    str(entry["id"]),
                    str(entry["name"]),
                    bytes.fromhex(entry["tree"]),
                    bool(entry["isOwn"]),
                    tuple(map(str, entry["since"])),
                    tuple(path.encode("utf-8", "surrogateescape") for path in entry["kept"]),
                )
                for entry in json.loads(data)
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            # without it, the next handover is merged with the last common commit as its base
            logger.warning("the note of the last handovers cannot be read, and is made anew")
            return ()

    def add(self, entry: HandoverRecord) -> None:
        """Records the newest one, durably; raises `StorageFull`, `IoError`."""
        entries = [*self.all(), entry][-_KEPT:]
        document = [
            {
                "id": each.handover_id,
                "name": each.name,
                "tree": each.tree.hex(),
                "isOwn": each.is_own,
                "since": each.since,
                "kept": [path.decode("utf-8", "surrogateescape") for path in each.kept],
            }
            for each in entries
        ]
        self.notes.keep(LINEAGE, json.dumps(document))
