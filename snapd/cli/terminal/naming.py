"""The titles of steps, by their agents' descriptions or else by what they changed; and shortened ids."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from snapd.wire.words import agent_title, git_words

from .layout import one_line, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from snapd.backend import Backend

LONGEST = 32
"""The length of generated ids, in digits."""
HEXADECIMAL = frozenset("0123456789abcdef")
ANSWERS: deque[tuple[Backend, Any]] = deque(maxlen=16)
"""The last answers of this command, whose ids were not looked up yet."""
_MADE = (16, LONGEST, 40)
"""The numbers of digits of ids (16 in older versions) and of hashes."""
_UUID = 36
SHORT_NAMES: dict[str, str] = {}


def step_name(step: dict[str, Any]) -> str:
    """Returns the title of a step on one line: its tool and description, else the files it changed, else its number."""
    name = step_text(step) or changed(step.get("files") or ()) or f"step {step['index'] + 1}"
    return f"{name} (reported late)" if "late" in step else name


def comment_texts(comment: dict[str, Any], agent: Callable[[str | None], str]) -> list[str]:
    """Returns lines with what a comment and its replies say, and who says it; an agent is named by its session."""
    lines = []
    for each in (comment | {"sessionId": None}, *comment["replies"]):
        first, *rest = map(printable, each["text"].splitlines())
        who = "you" if each["author"] == "user" else agent(each.get("sessionId"))
        lines += [f"  {who}: {first}", *(f"    {line}" for line in rest)]
    return lines


def step_text(step: dict[str, Any]) -> str:
    """Returns the agent's description of a step; empty if there is none."""
    return " ".join(filter(None, (one_line(step.get("tool")), one_line(step.get("description")))))


def command_of(step: dict[str, Any]) -> str:
    """Returns the command that a step ran, as at a shell prompt; empty if none is recorded, or if the title is it."""
    command = one_line(step.get("command"))
    return f"$ {command}" if command and command != one_line(step.get("description")) else ""


def git_line(change: Any) -> str:
    """Describes a `GitChange` on one line."""
    return printable(git_words(change))


def prompt_of(message: Any) -> str:
    """Returns the prompt of a message on one line, or "a prompt" if its text is not kept."""
    return one_line(message.get("text")) or "a prompt"


def agent_name(answer: Any) -> str:
    """Returns the agent of a session or a step, as people call it; empty if it has none."""
    return one_line(agent_title(answer.get("agent") or ""))


def agent_or_id(session: Any) -> str:
    """Returns the agent of a session; if it has none, the session's id."""
    return agent_name(session) or printable(short(session["sessionId"]))


def session_name(session: Any) -> str:
    """Returns the name of a session beside its agent and its id; empty if it only repeats one of them."""
    name, session_id, agent = session["name"], session["sessionId"], session.get("agent") or ""
    repeated = (session_id, f"session {session_id[:8]}", agent, agent_title(agent))
    return "" if name in repeated else one_line(name)


def continues(session: Any) -> str:
    """Says which session's conversation goes on in a session; empty for a new conversation."""
    return f"continues {printable(short(session['continues']['sessionId']))}" if "continues" in session else ""


def changed(files: Sequence[dict[str, Any]]) -> str:
    """Summarizes changed files: one by its name, several by their number and common folder."""
    if not files:
        return ""
    if len(files) == 1:
        (row,) = files
        counts = "binary" if row["binary"] else f"+{row['additions']} -{row['deletions']}"
        return f"{file_title(row)} {counts}"
    folder = common_folder([row["file"] for row in files])
    return f"{len(files)} files in {printable(folder)}/" if folder else f"{len(files)} files"


def file_title(row: dict[str, Any]) -> str:
    """Returns the name of a changed file; both names of a moved one."""
    name = printable(row["file"])
    return f"{printable(row['renamedFrom'])} → {name}" if "renamedFrom" in row else name


def common_folder(names: list[str]) -> str:
    """Returns the innermost folder that all files are in; empty if they share none."""
    folders = [name.split("/")[:-1] for name in names]
    common = []
    for parts in zip(*folders, strict=False):
        if len(set(parts)) > 1:
            break
        common.append(parts[0])
    return "/".join(common)


def short(name: str) -> str:
    """Returns an id as it is shown: the beginning of a generated one, any other in full."""
    is_uuid = len(name) == _UUID and name.count("-") == 4 and set(name) <= HEXADECIMAL | {"-"}
    return beginning(name) if is_uuid or is_made(name) else name


def beginning(name: str) -> str:
    """Returns the unique beginning of an id, if an answer to a request of this command has it; else all of it."""
    learn_answers()
    return SHORT_NAMES.get(name, name)


def learn_answers() -> None:
    """Looks up the ids in the last answers."""
    while ANSWERS:
        learn(*ANSWERS.popleft())


def learn(connection: Backend, answer: Any) -> None:
    """Requests the beginnings by which to show the ids in an answer."""
    from snapd.backend import beginnings

    if connection.is_open:
        SHORT_NAMES.update(beginnings(connection, answer, SHORT_NAMES))


def is_made(name: str) -> bool:
    """Whether this looks like an id generated by snapd, or the hash of a snapshot."""
    return len(name) in _MADE and set(name) <= HEXADECIMAL
