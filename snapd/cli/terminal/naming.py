"""What a step is called: what its agent says of it, else what it changed; and the ids that are shown.

An id is shown by the shortest beginning that no other of its kind has.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from .filenames import printable
from .layout import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from snapd.backend import Backend

LONGEST = 32
"""The length of names that snapd generates, in digits."""
HEXADECIMAL = frozenset("0123456789abcdef")
ANSWERS: deque[tuple[Backend, Any]] = deque(maxlen=16)
"""The last answers to requests of this command, whose ids nobody asked about yet."""
_MADE = (16, LONGEST, 40)
"""Digits of ids, once it was the first, and of hashes."""
_UUID = 36
SHORT_NAMES: dict[str, str] = {}


def step_name(step: dict[str, Any]) -> str:
    """The name of a step, on one line: its tool and description, else the files it changed, else its number."""
    name = said_of(step) or changed(step.get("files") or ()) or f"step {step['index'] + 1}"
    return f"{name} (reported late)" if "late" in step else name


def said_of(step: dict[str, Any]) -> str:
    """What the agent says of a step; empty if it says nothing."""
    return " ".join(filter(None, (one_line(step.get("tool")), one_line(step.get("description")))))


def prompt_of(message: Any) -> str:
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
    folder = common_folder([row["file"] for row in files])
    return f"{len(files)} files in {printable(folder)}/" if folder else f"{len(files)} files"


def file_title(row: dict[str, Any]) -> str:
    """The name of a file that changed; of one that was moved, both."""
    name = printable(row["file"])
    return f"{printable(row['renamedFrom'])} → {name}" if "renamedFrom" in row else name


def common_folder(names: list[str]) -> str:
    """The innermost folder that all files are in; empty if they share none."""
    folders = [name.split("/")[:-1] for name in names]
    common = []
    for parts in zip(*folders, strict=False):
        if len(set(parts)) > 1:
            break
        common.append(parts[0])
    return "/".join(common)


def short(name: str) -> str:
    """A name as it is shown: the beginning of a generated name, any other name in full."""
    is_uuid = len(name) == _UUID and name.count("-") == 4 and set(name) <= HEXADECIMAL | {"-"}
    return beginning(name) if is_uuid or is_made(name) else name


def beginning(name: str) -> str:
    """The beginning of a name that no other has, if an answer to a request of this command has it; else all of it."""
    learn_answers()
    return SHORT_NAMES.get(name, name)


def learn_answers() -> None:
    """Learns the ids in the last answers."""
    while ANSWERS:
        learn(*ANSWERS.popleft())


def learn(found: Backend, answer: Any) -> None:
    """Asks by which beginnings to show the ids in an answer."""
    from snapd.backend import beginnings

    if found.is_open:
        SHORT_NAMES.update(beginnings(found, answer, SHORT_NAMES))


def is_made(name: str) -> bool:
    """Whether snapd generates names like this one, or it is the hash of a snapshot."""
    return len(name) in _MADE and set(name) <= HEXADECIMAL
