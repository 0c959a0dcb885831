"""Converts between paths and `file:` URIs."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias, TypeVar

    FileName: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]
    Name = TypeVar("Name")

__all__ = ["folder_uri", "from_uri", "is_uri", "quote", "several", "to_uri", "workspace_folder"]

_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")


def to_uri(path: str | bytes) -> str:
    """Returns the `file:` URI of an absolute path.

    Every byte that is not unreserved in RFC 3986 is percent-encoded, including bytes that are not UTF-8: in a str,
    these are lone surrogates, as Python's file functions return them.

    Raises:
        ValueError: The path is not absolute, or has a null character.
    """
    raw = os.fsencode(path)
    if not raw.startswith(b"/") or b"\0" in raw:
        raise ValueError(f"not an absolute path: {path!r}")
    return f"file://{quote(raw)}"


def from_uri(uri: str) -> str:
    """Returns the path of a `file:` URI, as Python's file functions take it.

    Raises:
        ValueError: It is malformed, or not a `file:` URI of this machine.
    """
    if not is_uri(uri):
        raise ValueError(f"not a file: URI: {uri!r}")
    rest = uri[len("file:") :]
    if rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        if host.lower() not in ("", "localhost"):
            raise ValueError(f"a file: URI of another machine: {uri!r}")
        rest = slash + path
    if not rest.startswith("/") or "?" in rest or "#" in rest:
        raise ValueError(f"a malformed file: URI: {uri!r}")
    first, *others = rest.encode("utf-8", "surrogateescape").split(b"%")
    parts = [first]
    for part in others:
        try:
            # bytes.fromhex passes over white space, so "% 1" would do but for the length.
            octet = bytes.fromhex(part[:2].decode("ascii"))
        except ValueError:
            octet = b""
        if len(octet) != 1 or octet == b"\0":
            raise ValueError(f"a malformed file: URI: {uri!r}")
        parts += (octet, part[2:])
    return os.fsdecode(b"".join(parts))


def quote(raw: bytes) -> str:
    """Percent-encodes every byte of a path that is not unreserved."""
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in raw)


def is_uri(name: str) -> bool:
    """Whether a name looks like a `file:` URI."""
    return name[:5].lower() == "file:"


def folder_uri(folder: FileName) -> str:
    """Returns the URI of a folder, given as a URI or as a path from the current directory."""
    if isinstance(folder, str) and is_uri(folder):
        return folder
    path = os.fsdecode(folder)
    if not os.path.isabs(path):
        path = os.path.abspath(path)
    return to_uri(path.rstrip("/") or "/")


def several(names: Iterable[Name]) -> list[Name]:
    """Returns names as a list. Raises `TypeError` for a single name, whose letters would be taken for names."""
    if isinstance(names, (str, bytes, os.PathLike)):
        raise TypeError(f"expected a list of names, got the one name {names!r}: put it into a list")
    return list(names)


def workspace_folder(uri: str) -> dict[str, str]:
    """Returns a folder as LSP's `WorkspaceFolder`."""
    return {"uri": uri, "name": os.path.basename(uri.rstrip("/")) or "/"}
