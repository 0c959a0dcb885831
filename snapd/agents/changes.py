"""Works out what an install or an uninstall makes of one file; writes nothing."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from snapd.core.errors import InvalidParams

from . import styles
from .insertion import inserted, insertions, without_entries, without_insertions, without_pieces
from .jsonc import Object, parse
from .settings_file import Record, digest

if TYPE_CHECKING:
    from .table import Agent


@dataclass(frozen=True)
class Change:
    """What becomes of a file.

    Attributes:
        before: its bytes; None if there is none.
        after: what they are to be; None if it is to be gone.
        record: what to remember of it; None if nothing.
    """

    before: bytes | None
    after: bytes | None
    record: Record | None


def to_install(agent: Agent, path: str, before: bytes | None, record: Record | None) -> Change:
    """What an install makes of a file.

    Args:
        agent: whose file it is.
        path: of the snapd program.
        before: the file's bytes.
        record: of an install before this one.

    Raises:
        InvalidParams: the file is broken, or somebody else's where snapd needs one of its own.
    """
    if agent.style in ("executables", "plugin"):
        after = styles.whole(agent, path).encode()
        if before is not None and before != after and not styles.is_whole_ours(styles.text_of(before)):
            raise InvalidParams(
                "there is a file of somebody else's", hint="move it, or call 'snapd hook' in it", field="NAME"
            )
        if before not in (None, after):
            _refuse_edited(before, record)
        if before == after:
            return Change(before, before, record)
        made = [] if record is None else record.made
        return Change(before, after, Record(existed=False, digest=digest(after), made=made))
    text = "" if before is None else styles.text_of(before)
    if before is not None and styles.are_complete(text, agent, path):
        return Change(before, before, record)
    # an older install goes first, so that what is remembered is the file without snapd
    cleaned = to_uninstall(agent, before, record)
    text = "" if cleaned.after is None else styles.text_of(cleaned.after)
    pieces = insertions(text, styles.entries(agent, path), dict(agent.members or {}))
    result, moved = inserted(text, pieces)
    after = result.encode()
    made = [] if record is None else record.made
    return Change(
        before, after, Record(existed=cleaned.after is not None, digest=digest(after), pieces=moved, made=made)
    )


def to_uninstall(agent: Agent, before: bytes | None, record: Record | None) -> Change:
    """What an uninstall makes of a file.

    Args:
        agent: whose file it is.
        before: the file's bytes.
        record: of the install; None if nothing is known of it.

    Raises:
        InvalidParams: the file is broken.
    """
    if before is None:
        return Change(None, None, None)
    if agent.style in ("executables", "plugin"):
        if not styles.is_whole_ours(styles.text_of(before)):
            return Change(before, before, None)
        _refuse_edited(before, record)
        return Change(before, None, None)
    text = styles.text_of(before)
    if not styles.programs(text):
        return Change(before, before, None)
    after: str | None
    if record is not None and record.digest == digest(before):
        after = without_insertions(text, record.pieces)
    else:
        after = None if record is None else without_pieces(text, record.pieces)
        if after is None or styles.programs(after):
            after = without_entries(text, styles.is_ours)
    if _made_by_snapd(agent, record) and _is_bare(agent, after):
        return Change(before, None, None)
    return Change(before, after.encode(), None)


def with_made(change: Change, made: list[str]) -> Record | None:
    """The record of a change, with the directories that were made for it."""
    if change.record is None:
        return None
    return replace(change.record, made=[*change.record.made, *made])


def _refuse_edited(data: bytes | None, record: Record | None) -> None:
    """Raises `InvalidParams` if somebody edited a file that is snapd's alone: their work would go with it."""
    if data is not None and record is not None and record.digest != digest(data):
        raise InvalidParams(
            "somebody edited this file of snapd's", hint="keep the edits elsewhere and remove the file", field="NAME"
        )


def _made_by_snapd(agent: Agent, record: Record | None) -> bool:
    if record is not None:
        return not record.existed
    return os.path.basename(agent.user[0]) == "snapd.json"


def _is_bare(agent: Agent, text: str) -> bool:
    """Whether nothing is left in a file but what an install puts beside the hooks."""
    root = parse(text)
    if root is None:
        return not text.strip("\ufeff \t\r\n")
    return isinstance(root, Object) and {member.name for member in root.members} <= set(agent.members or {})
