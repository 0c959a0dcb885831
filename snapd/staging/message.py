"""Proposes the message of a commit."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_SUBJECT = 72
"""Characters of the first line, as git's own documentation advises at most."""
_ITEMS = 20
"""How many prompts the message lists."""
_ITEM = 300
"""Characters of each of them."""


def proposed(prompts: Sequence[str], otherwise: str) -> str:
    """Makes the message of a commit from what people asked for.

    Args:
        prompts: what they asked for, the oldest first; each may have several lines.
        otherwise: what to say if there is none.

    Returns:
        A subject; and, if it does not say all, an empty line and the prompts as a list.
    """
    asked = list(dict.fromkeys(text for text in map(_one_line, prompts) if text))
    if not asked:
        return _fit(_one_line(otherwise), _SUBJECT)
    subject = _fit(asked[0], _SUBJECT)
    if asked == [subject]:
        return subject
    lines = [subject, ""]
    for text in asked[:_ITEMS]:
        # the marks keep git from taking a line for a comment
        lines += textwrap.wrap(_fit(text, _ITEM), _SUBJECT, initial_indent="- ", subsequent_indent="  ")
    if len(asked) > _ITEMS:
        lines.append(f"- and {len(asked) - _ITEMS} more")
    return "\n".join(lines)


def _one_line(text: str) -> str:
    """A text on one line, without what a terminal or git takes for something else."""
    return "".join(char for char in " ".join(text.split()) if char.isprintable()).lstrip("# ")


def _fit(text: str, room: int) -> str:
    if len(text) <= room:
        return text
    # whole words, unless there is only one
    cut = text[: room - 1]
    return (cut.rpartition(" ")[0] or cut).rstrip(" ,;:.") + "…"
