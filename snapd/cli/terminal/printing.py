"""Text that comes from elsewhere, such as a file's name, made fit to be shown."""

from __future__ import annotations


def printable(name: str) -> str:
    """A file name that cannot play tricks on a terminal."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode("ascii") for char in name
    )
