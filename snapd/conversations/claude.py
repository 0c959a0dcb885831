"""Claude Code: `~/.claude/projects/FOLDER/SESSION.jsonl`, rows in a tree by `uuid` and `parentUuid`."""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence

from .branch import Begun, Branch, NoBranch, Prompt, Row, read_rows, text_of, with_session, write_copy

_NOTIFICATION = "<task-notification>"
_COMMAND = ("<command-", "<local-command-")


def claude(prompt: Prompt) -> Branch:
    """Copies the rows from the start of the conversation to the prompt, without it."""
    home = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude")
    path = prompt.path(home, "projects/*/{}.jsonl")
    # other rows are not of the conversation
    rows = [row for row in read_rows(path) if "uuid" in row.value]
    if not all(isinstance(row.at("uuid"), str) and isinstance(row.at("parentUuid"), str | None) for row in rows):
        raise NoBranch(f"{path} has rows of a form that snapd does not know")
    # a slash command has a row before that of the prompt, with the same id
    name = prompt.message_id if prompt.transcript is not None else _id_by_text(rows, prompt)
    first = next((row for row in rows if _prompt_id(row) == name), None)
    if first is None or name is None:
        raise NoBranch(f"{path} does not have this prompt")
    kept = _kept(rows, first, path)
    gone = _after(rows, first)
    prompts = {id_: row for row in reversed(gone) if (id_ := _prompt_id(row)) and _is_prompt(row)}
    own = prompts.get(name)
    drops = dict.fromkeys([name, *(id_ for row in gone if (id_ := _prompt_id(row)) in prompts)])
    cwd = next((row.at("cwd") for row in rows if isinstance(row.at("cwd"), str)), None)

    def copy() -> Begun:
        new = str(uuid.uuid4())
        dropped = {row.at("uuid") for row in gone}
        target = os.path.join(os.path.dirname(path), f"{new}.jsonl")
        write_copy(target, with_session(kept, new), lambda row: row.at("uuid") in dropped)
        return Begun(new)

    text = None if own is None else text_of(own.at("message", "content"))
    return Branch(
        drops=tuple(drops),
        # of a slash command, this is not what the person wrote
        prompt=None if text is None or text.startswith(_COMMAND) else text,
        cwd=cwd,
        begin=copy if any(map(_is_message, kept)) else None,
    )


def _id_by_text(rows: Sequence[Row], prompt: Prompt) -> str | None:
    """Returns the agent's id of a prompt that another client than a hook reported, under an id of its own."""
    own = (row for row in rows if _prompt_id(row) is not None and _is_prompt(row))
    texts = ((row, text_of(row.at("message", "content"))) for row in own)
    return next((_prompt_id(row) for row, text in texts if prompt.is_same(text) and prompt.is_before(row)), None)


def _prompt_id(row: Row) -> str | None:
    is_own = row.at("type") == "user" and not row.at("isSidechain")
    return row.at("promptId") if is_own and isinstance(row.at("promptId"), str) else None


def _is_prompt(row: Row) -> bool:
    """Whether a person wrote it; rows of results and of a command's texts have a prompt's id, too."""
    text = text_of(row.at("message", "content"))
    is_added = row.at("isMeta") or row.at("isCompactSummary")
    return text is not None and not is_added and not text.lstrip().startswith(_NOTIFICATION)


def _is_message(row: Row) -> bool:
    """Whether something is left of a conversation with it: not if it is of a command of the program."""
    text = text_of(row.at("message", "content")) or ""
    is_own = row.at("type") == "user" and _is_prompt(row) and not text.startswith(_COMMAND)
    return is_own or row.at("type") == "assistant"


def _kept(rows: Sequence[Row], first: Row, path: str) -> list[Row]:
    """Returns the rows that lead to one, and the results of calls at once, of which only the last is on the way."""
    by_id = {row.at("uuid"): row for row in reversed(rows)}
    names = set()
    name = first.at("parentUuid")
    while name is not None:
        if name not in by_id or name in names:
            raise NoBranch(f"{path} has rows that lead nowhere")
        names.add(name)
        name = by_id[name].at("parentUuid")
    if any(by_id[name].start > first.start for name in names):
        raise NoBranch(f"{path} has rows in an order that snapd does not know")
    sides = set()
    for row in rows:
        if row.start >= first.start:
            break
        parent, name = row.at("parentUuid"), row.at("uuid")
        is_result = parent in names and row.at("type") == "user" and _is_result(row)
        if name not in names and (is_result or (parent in sides and row.at("type") == "attachment")):
            sides.add(name)
    return [row for row in rows if row.start < first.start and row.at("uuid") in names | sides]


def _is_result(row: Row) -> bool:
    content = row.at("message", "content")
    kinds = {part.get("type") if isinstance(part, dict) else None for part in content} if type(content) is list else {}
    return kinds == {"tool_result"}


def _after(rows: Sequence[Row], first: Row) -> list[Row]:
    """Returns a row and those that follow from it, also across a compaction."""
    names, known = {first.at("uuid")}, 0
    while known != len(names):
        known = len(names)
        for row in rows:
            if {row.at("parentUuid"), row.at("logicalParentUuid")} & names:
                names.add(row.at("uuid"))
    return [row for row in rows if row.at("uuid") in names]
