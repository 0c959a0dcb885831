"""What somebody who mistyped a name may have meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def did_you_mean(given: str, names: Iterable[str], spelled: Callable[[str], str] = str) -> str:
    """The beginning of a hint that asks for the name that is most like what was given; empty if none is.

    Args:
        given: the mistyped name.
        names: those that there are.
        spelled: how the hint writes a name.
    """
    # loaded only where somebody mistyped something
    import difflib

    # dashes in front, and case, make no name like another
    by_letters = {name.lstrip("-").lower(): name for name in names}
    close = difflib.get_close_matches(given.lstrip("-").lower(), by_letters, 1)
    return f"did you mean {spelled(by_letters[close[0]])!r}? " if close else ""
