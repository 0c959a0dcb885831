"""Waits until git sees in a store what a daemon has recorded: it writes that a moment after its answer."""

from __future__ import annotations

import os
from pathlib import Path

from snapd.locations import stores_directory
from snapd.store.journal.frames import decode_frames
from snapd.store.journal.journal import JOURNAL, journal_numbers
from snapd.store.refs.database import read_references
from tests.rpc.machine import wait_until


def until_published(store: str | os.PathLike[str]) -> None:
    """Waits until the references of a store are where its journal moves them, which come last."""
    wait_until(lambda: _is_published(os.fspath(store)), f"{store} to be published")


def until_all_published(data: Path) -> None:
    """Waits for all stores below a data directory."""
    for store in Path(stores_directory(str(data))).glob("*"):
        until_published(store)


def _is_published(store: str) -> bool:
    moved: dict[str, bytes] = {}
    try:
        for number in journal_numbers(store):
            for frame in decode_frames(Path(store, JOURNAL, str(number)).read_bytes()):
                moved |= frame.references
    except FileNotFoundError:
        # a journal goes once the repository has all of it
        return False
    present = read_references(store).whole()
    return all(present.get(name) == target for name, target in moved.items())
