"""`snapd du`: what uses the space, by workspace and by session."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from snapd.cli.exit_codes import DONE, NOT_ALL
from snapd.cli.parsing.command import Answer, Command, common
from snapd.cli.requests.connection import TAKE_ONE, folder_of
from snapd.cli.terminal.layout import fit, one_line, shell_name, terminal_width
from snapd.cli.terminal.naming import agent_name
from snapd.cli.terminal.output import Painter, print_json, printable, size
from snapd.folders.root import store_of
from snapd.locations import Locations, stores_directory
from snapd.model.errors import InvalidParams, SnapdError

if TYPE_CHECKING:
    import argparse
    from typing import Annotated, Any

    from snapd.cli.parsing.usage import Parser
    from snapd.store.usage.usage import StoreLocation, Usage


class SessionSize(Answer):
    """The space that one session takes."""

    session_id: Annotated[str, "The session."]
    agent: Annotated[str | None, "Its agent."] = None
    title: Annotated[str | None, "Its title, or else its first prompt."] = None
    bytes: Annotated[int, "What only this session needs, in bytes."]


class StoreSize(Answer):
    """The space that a store takes, in bytes, by what needs it; or why that is not known."""

    folder: Annotated[str | None, "The folder that it belongs to, or null if the store does not say."]
    store: Annotated[str, "Its directory."]
    missing: Annotated[bool, "Whether the folder no longer exists."]
    bytes: Annotated[int | None, "All of it."] = None
    sessions: Annotated[list[SessionSize] | None, "What single sessions need, the largest first."] = None
    no_session: Annotated[int | None, "Snapshots outside of any session."] = None
    shared: Annotated[int | None, "What several of these need."] = None
    unused: Annotated[int | None, "What `snapd gc` frees."] = None
    linked: Annotated[int | None, "What the project's own git has too, which takes no extra space."] = None
    other: Annotated[int | None, "Indexes, timeline and the cached state of the folder."] = None
    error: Annotated[str | None, "What went wrong."] = None
    hint: Annotated[str | None, "What to do about it."] = None


class StoreSizes(Answer):
    """The space that stores take."""

    stores: Annotated[list[StoreSize], "The store of the folder, or all stores of the user."]
    bytes: Annotated[int, "All of them together."]


def _arguments(parser: Parser) -> None:
    common(parser, asks=False)
    parser.flag("--all", help="for all folders of this user")


@Command("du", "space and secrets", _arguments, answer="StoreSizes", example="du", shows=True)
def du(options: argparse.Namespace) -> int:
    """Show how much space the snapshots take, by session."""
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


def _stores(options: argparse.Namespace) -> list[StoreLocation]:
    from snapd.store.usage.usage import StoreLocation, stores

    locations = Locations.from_environment(os.environ)
    if options.all:
        return stores(stores_directory(locations.data))
    from snapd.settings.sources import read_file
    from snapd.settings.table import Settings

    folder = folder_of(options)
    path = store_of(folder, locations, Settings.of(read_file(locations.config_file)).data_dir)
    if not os.path.exists(os.path.join(path, "HEAD")):
        raise InvalidParams(f"there is no snapshot of {folder} yet", hint=TAKE_ONE, field="DIR")
    return [StoreLocation(path, folder)]


def _row(result: Usage) -> dict[str, Any]:
    sessions = []
    for session_id, count in sorted(result.sessions.items(), key=lambda item: -item[1]):
        agent, title = result.names[session_id]
        named = {name: text for name, text in (("agent", agent), ("title", title)) if text}
        sessions.append({"sessionId": session_id, **named, "bytes": count})
    return {
        "bytes": result.total,
        "sessions": sessions,
        "noSession": result.no_session,
        "shared": result.shared,
        "unused": result.unused,
        "linked": result.linked,
        "other": result.other,
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
    parts = [(_name_of(each), each["bytes"]) for each in row["sessions"]]
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


def _name_of(session: dict[str, Any]) -> str:
    words = [f"session {printable(session['sessionId'])}", agent_name(session), one_line(session.get("title"))]
    return fit("  ".join(filter(None, words)), terminal_width() - _WIDTH - len("    "))
