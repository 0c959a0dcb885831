"""`snapd gc`: maintenance now, of this folder's snapshots or of all. `snapd adopt`: takes a former history."""

from __future__ import annotations

import math
import os
import sys
import time
from typing import TYPE_CHECKING

from snapd.cli.exit_codes import DONE, NOT_ALL
from snapd.cli.requests.connection import ask, backend, daemon_at, settings_of
from snapd.cli.requests.folder import folder_of
from snapd.cli.terminal.asking import confirmed, declined
from snapd.cli.terminal.filenames import shell_name
from snapd.cli.terminal.output import print_json, printable, size
from snapd.locations import Locations, stores_directory
from snapd.model.errors import InvalidParams, IoError, SnapdError, StoreLocked

if TYPE_CHECKING:
    import argparse
    from typing import Any

    from snapd.settings.table import Settings
    from snapd.store.usage.usage import Found


def gc(options: argparse.Namespace) -> int:
    """Drops what the settings do not keep, packs the rest, and prints how much space this freed."""
    if options.older_than is not None and not 0 <= options.older_than < math.inf:
        raise InvalidParams("--older-than: expected a number of days, at least 0", field="--older-than")
    if options.older_than == 0 and not (options.yes or options.dry_run or _is_wanted()):
        return declined(options)
    if options.all or options.missing:
        return _all(options)
    with backend(options) as found:
        result = ask(found, "snapshot/cleanup", {"olderThanDays": options.older_than, "dryRun": options.dry_run})
    if options.json:
        print_json(result)
    else:
        print(_told(options, result))
    return DONE


def adopt(options: argparse.Namespace) -> int:
    """Ends the daemon, which has the stores open, and gives the folder a former history; what comes next starts it."""
    from snapd.folders.former import adopt as take
    from snapd.folders.root import store_of

    from .stop import end_daemon

    locations, socket = daemon_at(options.socket)
    folder = os.path.realpath(folder_of(options))
    store = store_of(folder, locations, settings_of(options, locations).data_dir)
    if not options.no_daemon:
        end_daemon(socket)
    taken, had = take(store, folder, None if options.old is None else os.path.abspath(options.old))
    if options.json:
        print_json({"folder": taken.folder, "store": store, "kept": had})
        return DONE
    print(f"{shell_name(folder)}: has the history of {shell_name(taken.folder)} now")
    if had:
        print("what it had by now is kept; 'snapd adopt' exchanges the two again")
    return DONE


def _is_wanted() -> bool:
    """Asks whether to drop everything that can be dropped; raises `InvalidParams` if nobody can be asked."""
    return confirmed(
        "Drop every snapshot and every ended session that nothing else needs? They do not come back.",
        "--older-than 0 drops all that nothing else needs",
        "confirm with --yes",
    )


def _all(options: argparse.Namespace) -> int:
    from snapd.store.usage.usage import stores

    locations = Locations.from_environment(os.environ)
    settings = settings_of(options, locations)
    rows: list[dict[str, Any]] = []
    found = stores(stores_directory(locations.data))
    there = [store.root for store in found if store.root is not None and not store.is_missing]
    there.append(os.path.realpath(options.directory))
    for store in found:
        try:
            row = _missing(options, store, there) if store.is_missing else _one(options, store, settings)
        except SnapdError as error:
            row = {"error": error.message, "hint": error.hint}
        rows.append({"folder": store.root, "store": store.path, "missing": store.is_missing, **row})
        if not options.json:
            _print(options, rows[-1])
    if options.json:
        print_json({"stores": rows})
    return NOT_ALL if any("error" in row for row in rows) else DONE


def _one(options: argparse.Namespace, found: Found, settings: Settings) -> dict[str, Any]:
    """Cleans a store: through the process that owns it, or else here, without looking at its folder."""
    from snapd.model.call import Call
    from snapd.store.store import Store

    try:
        store = Store(found.path, None)
    except StoreLocked as error:
        return _through_owner(options, found, error)
    try:
        if store.intent() is not None:
            raise IoError(
                "an operation in it was interrupted",
                hint="run 'snapd track' in the folder, which finishes the operation",
                path=found.path,
                errno="EBUSY",
            )
        expire = store.maintenance.foretell if options.dry_run else store.maintenance.clean
        removed, freed = expire(settings.kept.limits(time.time(), options.older_than), None, Call())
    finally:
        store.close()
    return {"removed": removed, "freedBytes": freed}


def _through_owner(options: argparse.Namespace, found: Found, locked: StoreLocked) -> dict[str, Any]:
    from snapd.backend import open_remote

    socket = locked.data.get("socket")
    if socket is None or found.root is None:
        raise locked
    daemon = open_remote(socket, found.root, {})
    try:
        params = {"olderThanDays": options.older_than, "dryRun": options.dry_run}
        result: dict[str, Any] = ask(daemon, "snapshot/cleanup", params)
    finally:
        daemon.close()
    return result


def _missing(options: argparse.Namespace, found: Found, there: list[str]) -> dict[str, Any]:
    """Removes the store of a folder that no longer exists, if the user wants that and it has no other name now."""
    from snapd.folders.former import whereabouts
    from snapd.store.usage.usage import remove

    assert found.root is not None
    if (now := whereabouts(found.path, there)) is not None:
        return {"movedTo": now}
    gone = f"{shell_name(found.root)} no longer exists"
    if options.dry_run or (
        not options.missing
        and not (sys.stdin.isatty() and confirmed(f"{gone}. Remove its snapshots for good?", gone, ""))
    ):
        return {}
    return {"freedBytes": remove(found.path), "gone": True}


def _print(options: argparse.Namespace, row: dict[str, Any]) -> None:
    name = shell_name(row["folder"] or row["store"])
    if "error" in row:
        print(f"snapd: {name}: {printable(row['error'])}\nhint: {printable(row['hint'])}", file=sys.stderr)
    elif "gone" in row:
        print(f"{name}: no longer exists; its snapshots were removed, {size(row['freedBytes'])} freed")
    elif "movedTo" in row:
        now = shell_name(row["movedTo"])
        print(f"{name}: is {now} now; its snapshots are kept, and 'snapd -C {now} adopt {name}' takes them there")
    elif row["missing"]:
        print(f"{name}: no longer exists; its snapshots are kept, and 'snapd gc --missing' removes them")
    else:
        print(f"{name}: {_told(options, row)}")


def _told(options: argparse.Namespace, result: dict[str, Any]) -> str:
    if options.dry_run:
        return (
            f"{result['removed']} snapshots would be removed, {size(result['freedBytes'])} freed, and the rest packed"
        )
    return f"{result['removed']} snapshots removed, {size(result['freedBytes'])} freed"
