"""Finds the file of a snapshot that somebody who mistyped its name may have meant."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from snapd.core.errors import FileNotInSnapshot
from snapd.core.rules.meant import did_you_mean

from .connection import pages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from snapd.backend import Backend


@contextmanager
def suggesting(found: Backend) -> Iterator[None]:
    """Adds the name that was meant to the hint of an error about a file that a snapshot does not have.

    Args:
        found: who answers.

    Raises:
        FileNotInSnapshot: the error of the block, with the other hint.
    """
    try:
        yield
    except FileNotInSnapshot as error:
        meant = meant_file(found, error.data["hash"], error.data["file"])
        raise FileNotInSnapshot(error.message, hint=meant + error.default_hint, **error.data) from error


def meant_file(found: Backend, tree: str, name: str) -> str:
    """The beginning of a hint that asks for the file that is most like a name; empty if none is.

    Looks at the files of the same directory, and at those of the same name elsewhere.

    Args:
        found: who answers.
        tree: the snapshot whose files it may be.
        name: relative to the folder.
    """
    directory, base = os.path.split(name)
    names = list(pages(found, "snapshot/listFiles", {"hash": tree}, "files"))
    elsewhere = [each for each in names if os.path.basename(each) == base]
    if len(elsewhere) == 1:
        return f"did you mean {elsewhere[0]!r}? "
    return did_you_mean(name, elsewhere or [each for each in names if os.path.dirname(each) == directory])
