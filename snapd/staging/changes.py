"""The changes of steps to files, and those of one file under all its names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from snapd.core.model import EMPTY_BLOB

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from snapd.core.model import Entry


@attrs.frozen
class Owner:
    """A step that made a change, with its session and its message."""

    session_id: str
    step_id: str
    message_id: str | None = None


@attrs.frozen
class Change:
    """One change of a file.

    Attributes:
        old: the file before; None for no file.
        new: the file afterwards; None for no file.
        owners: the steps that made it; none for an operation that took back a part of an earlier change.
        moved_from: where the file was before, if it was moved.
        others: steps of other sessions that may have made it.
    """

    old: Entry | None
    new: Entry | None
    owners: tuple[Owner, ...]
    moved_from: bytes | None = None
    others: tuple[str, ...] = ()


Chain = tuple[Change, ...]


@attrs.frozen
class Unit:
    """A file whose changes are staged as a whole or not at all.

    Attributes:
        path: where it is.
        sources: where it was before it was moved, the first name first.
        changes: its changes under all its names, the oldest first.
    """

    path: bytes
    sources: tuple[bytes, ...]
    changes: Chain


def units(chains: Mapping[bytes, Chain], in_index: Callable[[bytes], bool]) -> list[Unit]:
    """Joins the changes of a file that was moved, unless the index has other files under its old and its new name.

    Args:
        chains: the changes of each path, the oldest first.
        in_index: whether the index has a path.
    """
    found = {path: Unit(path, (), chain) for path, chain in chains.items()}
    for path in sorted(chains, key=lambda path: len(_origins(path, chains))):
        origin = chains[path][0].moved_from
        if origin is None or origin not in found or origin == path:
            continue
        sources = (*found[origin].sources, origin)
        if in_index(path) and any(map(in_index, sources)):
            continue
        before, after = found[origin].changes, chains[path]
        went, came = before[-1], after[0]
        # all empty files are alike
        if went.new is None and went.old is not None and came.new is not None and came.new.oid != EMPTY_BLOB:
            bridge = attrs.evolve(came, old=went.old, others=tuple(dict.fromkeys((*went.others, *came.others))))
            del found[origin]
            found[path] = Unit(path, sources, (*before[:-1], bridge, *after[1:]))
    return [found[path] for path in sorted(found)]


def _origins(path: bytes, chains: Mapping[bytes, Chain]) -> list[bytes]:
    """The earlier names of a file, the last one first."""
    names: list[bytes] = []
    origin = chains[path][0].moved_from
    while origin is not None and origin in chains and origin not in (path, *names):
        names.append(origin)
        origin = chains[origin][0].moved_from
    return names
