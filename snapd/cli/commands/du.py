"""`snapd du`: what uses the space, by workspace and by session."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from snapd.cli.exit_codes import DONE, NOT_ALL
from snapd.cli.requests.connection import TAKE_ONE
from snapd.cli.requests.folder import folder_of
from snapd.cli.terminal.filenames import shell_name
from snapd.cli.terminal.output import Painter, print_json, printable, size
from snapd.locations import Locations, stores_directory
from snapd.model.errors import InvalidParams, SnapdError

if TYPE_CHECKING:
    import argparse
    from typing import Any

    from snapd.store.usage.usage import Found, Usage


def du(options: argparse.Namespace) -> int:
    """Reads the stores from outside: it opens and changes nothing."""
    from snapd.store.usage.usage import usage

    rows: list[dict[str, Any]] = []
    for store in _stores(options):
        row: dict[str, Any] = {"folder": store.root, "store": store.path, "missing": store.is_missing}
        try:
            row |= _row(usage(store.path))
        except SnapdError as error:
            row |= {"error": error.message, "hint": error.hint}
        rows.append(row)
    if options.json:
        print_json({"stores": rows, "bytes": sum(row.get("bytes", 0) for row in rows)})
    else:
        painter = Painter(options)
        for row in rows:
            _print(painter, row, options.all)
        if options.all:
            print(f"{size(sum(row.get('bytes', 0) for row in rows)).rjust(_WIDTH)}  all")
    return NOT_ALL if any("error" in row for row in rows) else DONE


_WIDTH = 11


def _stores(options: argparse.Namespace) -> list[Found]:
    from snapd.store.usage.usage import Found, stores

    locations = Locations.from_environment(os.environ)
    if options.all:
        return stores(stores_directory(locations.data))
    from snapd.settings.sources import read_file
    from snapd.settings.table import Settings
    from snapd.workspaces import Workspaces, current_umask

    settings = Settings.of(read_file(locations.config_file))
    folder = folder_of(options)
    workspaces = Workspaces(locations, os.environ.get("XDG_CONFIG_HOME"), current_umask(), None)
    path = workspaces.store_of(os.fsencode(folder), settings)
    if not os.path.exists(os.path.join(path, "HEAD")):
        raise InvalidParams(f"there is no snapshot of {folder} yet", hint=TAKE_ONE, field="DIR")
    return [Found(path, folder)]


def _row(found: Usage) -> dict[str, Any]:
    return {
        "bytes": found.total,
        "sessions": [{"sessionId": name, "bytes": count} for name, count in found.sessions.items()],
        "noSession": found.no_session,
        "shared": found.shared,
        "unused": found.unused,
        "linked": found.linked,
        "other": found.other,
    }


def _print(painter: Painter, row: dict[str, Any], briefly: bool) -> None:
    name = shell_name(row["folder"] or row["store"]) + (" (no longer exists)" if row["missing"] else "")
    if "error" in row:
        print(f"{painter.paint('?'.rjust(_WIDTH), 'red')}  {name}: {printable(row['error'])}")
        print(f"hint: {printable(row['hint'])}")
        return
    print(f"{painter.paint(size(row['bytes']).rjust(_WIDTH), 'yellow')}  {name}")
    if briefly:
        return
    parts = [(f"session {printable(each['sessionId'])}", each["bytes"]) for each in row["sessions"]]
    parts += [
        ("snapshots outside of any session", row["noSession"]),
        ("shared by several of these", row["shared"]),
        ("no longer used: 'snapd gc' frees it", row["unused"]),
        ("shared with the project's own git: takes no extra space", row["linked"]),
        ("indexes, timeline and the cached state of the folder", row["other"]),
    ]
    for what, count in parts:
        if count:
            print(f"{size(count).rjust(_WIDTH)}    {what}")
