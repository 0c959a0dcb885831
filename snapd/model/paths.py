"""Converts the paths of clients to paths below the workspace root, or refuses them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from urllib.parse import quote_from_bytes, unquote_to_bytes, urlsplit

from snapd.model.errors import InvalidParams, PathOutsideWorkspace
from snapd.model.snapshot import RelPath

_DOT_GIT = re.compile(rb"(?:\.git|git~1)[ .]*(?:[\\:].*)?", re.IGNORECASE | re.DOTALL)
_URI_SAFE = "/-._~!$&'()*+,;=:@"


def is_tree_name(name: bytes) -> bool:
    """Returns whether git accepts this name in a tree (git's `verify_path`): no spelling of `.git`."""
    return _DOT_GIT.fullmatch(name) is None


def is_restorable_name(name: bytes) -> bool:
    """Returns whether a work tree can have this name: a damaged or forged tree may have any."""
    return name not in (b"", b".", b"..") and b"/" not in name and is_tree_name(name)


def to_uri(path: bytes) -> str:
    """Returns the `file:` URI of an absolute path, exact even if it is not UTF-8 (RFC 8089)."""
    return "file://" + quote_from_bytes(path, safe=_URI_SAFE)


def from_uri(uri: str, field: str) -> bytes:
    """Returns the absolute path of a `file:` URI; raises `InvalidParams`, which names `field`, if it is none."""
    try:
        parts = urlsplit(uri)
    except ValueError as error:
        raise InvalidParams(f"{field}: not a URI: {error}", field=field) from error
    if parts.scheme.lower() != "file" or parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
        hint = f"send {to_uri(os.fsencode(uri))}" if uri.startswith("/") else None
        raise InvalidParams(f"{field}: expected a file: URI of this machine, got {uri!r}", hint=hint, field=field)
    # urlsplit may mistake part of a name that the client did not encode for a query or fragment
    at = uri.find(parts.path, len(parts.scheme) + 1)
    if at < 0:
        raise InvalidParams(f"{field}: not a URI: it contains a line break or a tab", field=field)
    path = uri[at:]
    decoded = unquote_to_bytes(path.encode("utf-8", "surrogateescape"))
    if b"\0" in decoded:
        raise InvalidParams(f"{field}: a path cannot contain a NUL byte", field=field)
    return decoded


def shown(path: bytes) -> str:
    """Decodes a path for display: U+FFFD replaces what is not UTF-8."""
    return path.decode("utf-8", "replace")


def is_utf8(path: bytes) -> bool:
    """Returns whether the path survives as a JSON string."""
    try:
        path.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def from_text(text: str, field: str) -> bytes:
    """Returns the bytes of an absolute or relative path or `file:` URI in a request; raises `InvalidParams`."""
    if text[:6].lower() == "file:/":
        return from_uri(text, field)
    try:
        raw = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raw = b""
    if not raw or b"\0" in raw:
        raise InvalidParams(f"{field}: not a path", field=field)
    return raw


def relative(raw: bytes, root: bytes) -> RelPath:
    """Returns a path relative to the canonical root; follows no links. Raises `PathOutsideWorkspace`."""
    inside = raw
    if raw.startswith(b"/"):
        above = root.rstrip(b"/")
        if raw != root and not raw.startswith(above + b"/"):
            raise PathOutsideWorkspace(f"{shown(raw)} is not in the workspace", file=shown(raw))
        inside = raw[len(above) :]
    parts = [part for part in inside.split(b"/") if part not in (b"", b".")]
    if b".." in parts:
        raise PathOutsideWorkspace(f"{shown(raw)} has a '..' in it", file=shown(raw))
    if not parts:
        raise PathOutsideWorkspace(f"{shown(raw)} is the workspace itself, not a file in it", file=shown(raw))
    if not all(is_tree_name(part) for part in parts):
        raise PathOutsideWorkspace(f"{shown(raw)} leads into a .git", file=shown(raw))
    return b"/".join(parts)


def parents(path: RelPath) -> list[RelPath]:
    """Returns the directories above a path, nearest first, without the root."""
    paths = []
    while (cut := path.rfind(b"/")) >= 0:
        path = path[:cut]
        paths.append(path)
    return paths


def folders_above(paths: Iterable[RelPath]) -> set[RelPath]:
    """Returns all directories above some paths, without the root."""
    matches: set[RelPath] = set()
    for path in paths:
        here = path
        while (cut := here.rfind(b"/")) >= 0 and (here := here[:cut]) not in matches:
            matches.add(here)
    return matches


def absolute(root: bytes, path: RelPath) -> str:
    """Returns a path as in file lists of the contract: absolute, or a URI if it is not UTF-8."""
    full = os.path.join(root, path)
    return full.decode("utf-8") if is_utf8(full) else to_uri(full)
