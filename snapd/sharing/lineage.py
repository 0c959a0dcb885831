"""The handovers that a folder made and took over; implements `core.ports.sharing.Lineage`."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

import attrs

from snapd.core.timeline.handover import HandedOver
from snapd.store.files.durable import write_file
from snapd.store.files.walking import read_if_there

if TYPE_CHECKING:
    from collections.abc import Sequence

logger = logging.getLogger(__name__)

_KEPT = 32


@attrs.frozen
class Lineage:
    """The last handovers of a folder.

    Args:
        path: the file that remembers them.
    """

    path: str

    def all(self) -> Sequence[HandedOver]:
        """The last ones, oldest first; raises `IoError`."""
        data = read_if_there(self.path)
        if data is None:
            return ()
        try:
            return tuple(
                HandedOver(
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
            # without it, the next handover is merged from the last common commit
            logger.warning("%s is damaged, and is made anew", self.path)
            return ()

    def add(self, entry: HandedOver) -> None:
        """Notes the newest one, durably; raises `StorageFull`, `IoError`."""
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
        write_file(self.path, json.dumps(document).encode())
