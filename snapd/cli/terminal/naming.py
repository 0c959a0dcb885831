"""What a step is called: what its agent says of it, else what it changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .filenames import printable
from .layout import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence


def step_name(step: dict[str, Any]) -> str:
    """The name of a step, on one line: its tool and description, else the files it changed, else its number."""
    name = said_of(step) or changed(step.get("files") or ()) or f"step {step['index'] + 1}"
    return f"{name} (reported late)" if "late" in step else name


def said_of(step: dict[str, Any]) -> str:
    """What the agent says of a step; empty if it says nothing."""
    return " ".join(filter(None, (one_line(step.get("tool")), one_line(step.get("description")))))


def prompt_of(message: dict[str, Any]) -> str:
    """The prompt of a message on one line; of one whose text is not kept, what it is."""
    return one_line(message.get("text")) or "a prompt"


def is_noise(step: dict[str, Any]) -> bool:
    """Whether nobody misses a step: it changed nothing, and is a call of a tool or one of which nothing is said.

    Agents call tools to look as well, and `snapd run` begins a step for what may come. One that was reported late may
    have changed something before that.
    """
    if step["state"] == "open" or step["files"] or "uncaptured" in step or "late" in step:
        return False
    return "partId" in step or not any(name in step for name in ("tool", "description", "messageId"))


def changed(files: Sequence[dict[str, Any]]) -> str:
    """Files that changed, in a few words: one by its name, several by their number and the folder of all."""
    if not files:
        return ""
    if len(files) == 1:
        (row,) = files
        counts = "binary" if row["binary"] else f"+{row['additions']} -{row['deletions']}"
        return f"{file_title(row)} {counts}"
    folder = _common_folder([row["file"] for row in files])
    return f"{len(files)} files in {printable(folder)}/" if folder else f"{len(files)} files"


def file_title(row: dict[str, Any]) -> str:
    """The name of a file that changed; of one that was moved, both."""
    name = printable(row["file"])
    return f"{printable(row['renamedFrom'])} → {name}" if "renamedFrom" in row else name


def _common_folder(names: list[str]) -> str:
    folders = [name.split("/")[:-1] for name in names]
    common = []
    for parts in zip(*folders, strict=False):
        if len(set(parts)) > 1:
            break
        common.append(parts[0])
    return "/".join(common)
