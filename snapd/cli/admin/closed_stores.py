"""Checks stores that nobody has open: also those that no workspace can be opened with."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from snapd.core.call import Call
from snapd.handlers.check import result
from snapd.locations import project_id, store_path
from snapd.refusal import canonical_root
from snapd.root import folder_of_store
from snapd.store.fsck.checkers import check_closed
from snapd.wire import converter as wire

if TYPE_CHECKING:
    from snapd.backend import Report
    from snapd.locations import Locations
    from snapd.settings.table import Settings


def store_of(locations: Locations, settings: Settings, folder: str) -> str:
    """The directory of the store of a folder, which may not be there.

    Raises:
        WorkspaceRefused: there is no such folder.
    """
    root = canonical_root(os.fsencode(folder))
    data = os.path.join(os.fsdecode(root), settings.data_dir) if settings.data_dir else locations.data
    return store_path(os.path.realpath(data), project_id(root))


def stores(locations: Locations) -> list[tuple[str, str | None]]:
    """All stores of a user's data directory, each with the folder that it says that it belongs to.

    The folder is None where that cannot be read, or is not there any more.
    """
    above = os.path.dirname(store_path(locations.data, "any"))
    try:
        names = sorted(os.listdir(above))
    except FileNotFoundError:
        return []
    found = []
    for name in names:
        store = os.path.join(above, name)
        if os.path.isdir(store):
            found.append((store, _folder_of(store, name)))
    return found


def check_store(store: str, *, quick: bool, repair: bool, report: Report | None = None) -> Any:
    """Checks a store; the answer is that of `snapshot/check`.

    Args:
        store: its directory.
        quick: read no objects but records and events.
        repair: repair it too, from itself alone.
        report: told how far it is.

    Raises:
        StoreLocked: another process has it open.
        StoreCorrupt, StorageFull, IoError: it could not be checked, or not be repaired.
    """

    def tell(message: str, done: int, total: int | None) -> None:
        if report is not None:
            report(message, done * 100 // total if total else None)

    found = check_closed(store, Call(tell), quick=quick, mend=repair)
    return wire.unstructure(result(os.fsencode(folder_of_store(store) or "/"), found))


def _folder_of(store: str, name: str) -> str | None:
    folder = folder_of_store(store)
    if folder is None or not os.path.isdir(folder) or project_id(os.path.realpath(os.fsencode(folder))) != name:
        return None
    return folder
