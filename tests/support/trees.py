"""Encodes git trees for tests, independently of how the work tree does it."""

from __future__ import annotations

from collections.abc import Iterable

from snapd.model.snapshot import TreeEntry


def encode_tree(entries: Iterable[TreeEntry]) -> bytes:
    """The bytes of a tree object; entries may come in any order."""
    return b"".join(
        b"%o %s\0%s" % (entry.mode, entry.name, entry.oid)
        for entry in sorted(entries, key=lambda entry: entry.sort_key)
    )
