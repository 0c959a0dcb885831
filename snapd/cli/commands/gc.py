"""`snapd gc`: maintenance now, of this folder's snapshots or of all. `snapd adopt`: takes over a former history."""

from __future__ import annotations

import math
import os
import sys
import time
from typing import TYPE_CHECKING

from snapd.cli.exit_codes import DONE, NOT_ALL
from snapd.cli.parsing.command import Answer, Command, common
from snapd.cli.requests.connection import ask, daemon_at, folder_of, open_backend, settings_of
from snapd.cli.terminal.asking import confirmed, declined
from snapd.cli.terminal.layout import shell_name
from snapd.cli.terminal.output import print_json, printable, size
from snapd.locations import Locations, stores_directory
from snapd.model.errors import InvalidParams, IoError, SnapdError, StoreLocked

if TYPE_CHECKING:
    import argparse
    from typing import Annotated, Any

    from snapd_client.protocol import CleanupResult

    from snapd.cli.parsing.usage import Parser
    from snapd.settings.table import Settings
    from snapd.store.usage.usage import StoreLocation


class CleanedStore(Answer):
    """A store that was cleaned up, or why it was not."""

    folder: Annotated[str | None, "The folder that it belongs to, or null if the store does not say."]
    store: Annotated[str, "Its directory."]
    missing: Annotated[bool, "Whether the folder no longer exists."]
    removed: Annotated[int | None, "The number of removed snapshots."] = None
    freed_bytes: Annotated[int | None, "By how many bytes it shrank."] = None
    gone: Annotated[bool | None, "True if the store itself was removed."] = None
    moved_to: Annotated[str | None, "The path that the missing folder has now: its history is kept."] = None
    error: Annotated[str | None, "What went wrong."] = None
    hint: Annotated[str | None, "What to do about it."] = None


class CleanedStores(Answer):
    """What `gc --all` did."""

    stores: Annotated[list[CleanedStore], "All stores of the user."]


def _gc_arguments(parser: Parser) -> None:
    common(parser)
    parser.argument("--older-than", "DAYS", "drop snapshots older than this (default: the setting; 0: all)", type=float)
    parser.flag("-n", "--dry-run", help="only show what would be dropped")
    parser.flag("-y", "--yes", help="do not ask before all snapshots are dropped")
    parser.flag("--all", help="for all folders of this user")
    parser.flag("--missing", help="as --all, and also remove the snapshots of folders that no longer exist")


@Command("gc", "space and secrets", _gc_arguments, answer="CleanupResult | CleanedStores", example="gc")
def gc(options: argparse.Namespace) -> int:
    """Drop snapshots that the settings do not keep, and pack the rest."""
    if options.older_than is not None and not 0 <= options.older_than < math.inf:
        raise InvalidParams("--older-than: expected a number of days, at least 0", field="--older-than")
    if options.older_than == 0 and not (options.yes or options.dry_run or _is_wanted()):
        return declined(options)
    if options.all or options.missing:
        return _all(options)
    with open_backend(options) as backend:
        result = ask(backend, "snapshot/cleanup", {"olderThanDays": options.older_than, "dryRun": options.dry_run})
    if options.json:
        print_json(result)
    else:
        print(_format_result(options, result))
    return DONE


class AdoptResult(Answer):
    """The history that `adopt` took."""

    folder: Annotated[str, "The former path."]
    store: Annotated[str, "The directory that the history has now."]
    kept: Annotated[bool, "Whether the folder had a history by now, which is kept as a former one."]


def _adopt_arguments(parser: Parser) -> None:
    common(parser)
    parser.argument("old", "OLD", "the former path, or the directory of the store (default: the only one)", nargs="?")


@Command("adopt", "space and secrets", _adopt_arguments, answer="AdoptResult", example="adopt ~/old-name", plays=False)
def adopt(options: argparse.Namespace) -> int:
    """Take the history of a folder that was renamed, or that was here before.

    snapd notices when a folder was renamed or moved. This command gives the folder its history back. The history that
    the folder has now is kept, and a second 'snapd adopt' exchanges the two. It restarts the daemon.
    """
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
    """Asks whether to drop everything that can be dropped; raises `InvalidParams` if there is nobody to ask."""
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
    result = stores(stores_directory(locations.data))
    there = [store.root for store in result if store.root is not None and not store.is_missing]
    there.append(os.path.realpath(options.directory))
    for store in result:
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


def _one(options: argparse.Namespace, store_location: StoreLocation, settings: Settings) -> CleanupResult:
    """Cleans a store through the process that owns it, or else here, without looking at its folder."""
    from snapd.model.call import Call
    from snapd.store.store import Store

    try:
        store = Store(store_location.path, None)
    except StoreLocked as error:
        return _through_owner(options, store_location, error)
    try:
        if store.intent() is not None:
            raise IoError(
                "an operation in it was interrupted",
                hint="run 'snapd track' in the folder, which finishes the operation",
                path=store_location.path,
                errno="EBUSY",
            )
        expire = store.maintenance.foretell if options.dry_run else store.maintenance.clean
        removed, freed = expire(settings.kept.limits(time.time(), options.older_than), None, Call())
    finally:
        store.close()
    return {"removed": removed, "freedBytes": freed}


def _through_owner(options: argparse.Namespace, store_location: StoreLocation, locked: StoreLocked) -> CleanupResult:
    from snapd.backend import open_remote

    socket = locked.data.get("socket")
    if socket is None or store_location.root is None:
        raise locked
    daemon = open_remote(socket, store_location.root, {})
    try:
        return ask(daemon, "snapshot/cleanup", {"olderThanDays": options.older_than, "dryRun": options.dry_run})
    finally:
        daemon.close()


def _missing(options: argparse.Namespace, store_location: StoreLocation, there: list[str]) -> dict[str, Any]:
    """Removes the store of a folder that no longer exists, if the user wants that and the folder has no new name."""
    from snapd.folders.former import whereabouts
    from snapd.store.usage.usage import remove

    assert store_location.root is not None
    if (now := whereabouts(store_location.path, there)) is not None:
        return {"movedTo": now}
    gone = f"{shell_name(store_location.root)} no longer exists"
    if options.dry_run or (
        not options.missing
        and not (sys.stdin.isatty() and confirmed(f"{gone}. Remove its snapshots for good?", gone, ""))
    ):
        return {}
    return {"freedBytes": remove(store_location.path), "gone": True}


def _print(options: argparse.Namespace, row: Any) -> None:
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
        print(f"{name}: {_format_result(options, row)}")


def _format_result(options: argparse.Namespace, result: CleanupResult) -> str:
    if options.dry_run:
        return (
            f"{result['removed']} snapshots would be removed, {size(result['freedBytes'])} freed, and the rest packed"
        )
    return f"{result['removed']} snapshots removed, {size(result['freedBytes'])} freed"
