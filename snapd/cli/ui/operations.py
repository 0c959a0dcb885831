"""What can be undone or redone by a key: the request, its plan in words, and the result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from snapd.cli.requests.names import file_of
from snapd.cli.requests.operation import decisions_param, undecided
from snapd.cli.terminal.naming import short
from snapd.cli.terminal.output import printable
from snapd.model.errors import InvalidParams
from snapd.wire.words import git_lines, reason_text

from .labels import title_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from .history import Pending
    from .outline import Row

_WOULD = {
    "restored": ("write", "green"),
    "deleted": ("delete", "red"),
    "merged": ("merge", "green"),
    "conflict": ("conflict", "yellow"),
    "kept": ("keep", "cyan"),
    "skipped": ("leave", "yellow"),
    "failed": ("cannot", "red"),
    "unchanged": ("leave", "dim"),
}
"""What would happen to a file, and the style of the word."""
_REDO = "r redoes it."
_DONE = frozenset({"restored", "deleted", "merged"})


@attrs.frozen
class Operation:
    """A request that changes the folder."""

    title: str  # what it would do, for the question
    method: str
    params: dict[str, Any]  # without `dryRun`, `expect`, `onConflict` and `decisions`
    note: str = ""  # what the user should know besides
    way_back: str = ""  # how to reverse it, once it is done
    takes_chat: bool = False  # whether the conversation goes back with the files

    @property
    def with_git(self) -> bool:
        """Whether it takes back what steps did to git, too."""
        return "git" in self.params

    @property
    def is_redo(self) -> bool:
        """Whether it does again what was undone."""
        return self.method == "session/redo"

    def turn_git(self) -> Operation:
        """Returns the same with git, or without it."""
        others = {name: value for name, value in self.params.items() if name != "git"}
        return attrs.evolve(self, params=others if self.with_git else {**others, "git": True})

    def plan(self, decisions: dict[str, str]) -> dict[str, Any]:
        """Returns the params of a dry run, with the user's decisions about files in conflict."""
        decided = decisions_param(decisions)
        return {**self.params, "onConflict": "merge", **({"decisions": decided} if decided else {}), "dryRun": True}

    def carry_out(self, decisions: dict[str, str], plan: dict[str, Any]) -> dict[str, Any]:
        """Returns the params that do exactly what a plan says."""
        return {**self.plan(decisions), "dryRun": False, "expect": plan["plan"]}


def undo(row: Row | None) -> Operation:
    """Undoes what a row shows: a session, a turn, a step, or a file of a step; else raises `InvalidParams`."""
    if row is not None and row.kind == "session":
        count = row.shows["undoable"]
        if not count:
            raise InvalidParams("this session has no step left to undo", hint="r redoes what was undone")
        steps = "the last step that is" if count == 1 else f"all {count} steps that are"
        return Operation(
            f"Undo {steps} left of this session?",
            "session/undo",
            # with git, steps count that changed no file
            {"sessionId": row.shows["sessionId"], "count": row.shows["stepCount"]},
            way_back=_REDO,
        )
    if row is not None and row.kind == "message":
        return Operation(
            "Undo all steps of this turn?",
            "session/undo",
            {"sessionId": row.shows["sessionId"], "messageId": row.shows["messageId"]},
            way_back=_REDO,
        )
    if row is not None and row.kind == "file" and row.step is not None:
        return revert_file(row, None)
    step = None if row is None else row.step
    if step is None:
        raise InvalidParams(
            "only what a step did can be undone here", hint="select a step, or see 'snapd restore' for the rest"
        )
    note = "The step is open. It ends with this." if step["state"] == "open" else ""
    about = {"sessionId": step["sessionId"], "stepId": step["stepId"]}
    return Operation(f"Undo {_named(step)}?", "session/undo", about, note, _REDO)


def redo(row: Row | None) -> Operation:
    """Redoes what was undone last in the session of a row. Raises `InvalidParams` if the row has none."""
    session_id = None if row is None else row.session_id
    if session_id is None:
        raise InvalidParams("only what a session did can be redone here", hint="select the session or its step")
    return Operation(
        "Do again what was undone last in this session?", "session/redo", {"sessionId": session_id, "whole": True}
    )


def rewind(row: Row | None) -> Operation:
    """Goes back to before the prompt of a row, with files and conversation; else raises `InvalidParams`."""
    if row is None or row.kind != "message":
        raise InvalidParams("only a prompt can be gone back to", hint="select a prompt: its line begins with »")
    about = {"sessionId": row.shows["sessionId"], "messageId": row.shows["messageId"]}
    title = "Go back to before this prompt, with files and conversation?"
    return Operation(title, "session/revert", about, takes_chat=True)


def chat_text(outcome: dict[str, Any]) -> str:
    """Says how a conversation goes on, and what to type then; empty if none is taken back."""
    if "chat" not in outcome:
        return ""
    chat = outcome["chat"]
    how = f" Type: {chat['line']}" if "line" in chat else ""
    return printable(f"Conversation: {chat.get('problem') or chat['summary']}.{how}")


def revert_file(row: Row | None, file: str | None) -> Operation:
    """Undoes a step in one file: the row's, or `file` if the row is a step. Raises `InvalidParams` without one."""
    step = None if row is None else row.step
    if row is not None and row.kind == "file":
        file = file_of(row.shows)
    if step is None or file is None:
        raise InvalidParams("no file of a step is selected", hint="unfold a step with Enter, and select a file")
    return Operation(
        f"Take back what {_named(step)} did to {printable(_name(row, file))}?",
        "step/revertFiles",
        {"stepId": step["stepId"], "files": [file]},
    )


def revert_hunks(row: Row | None, file: str | None, hunks: Collection[int]) -> Operation:
    """Undoes some hunks, by index, of what a step did to a file. Raises `InvalidParams` if there are none."""
    step = None if row is None else row.step
    if step is None or file is None or not hunks:
        raise InvalidParams(
            "no hunk of a step is selected", hint="select a step that has ended, press Tab, and move to a hunk"
        )
    numbers = ", ".join(str(index + 1) for index in sorted(hunks))
    kind = "hunk" if len(hunks) == 1 else "hunks"
    return Operation(
        f"Take back {kind} {numbers} of {printable(_name(row, file))}, from {_named(step)}?",
        "step/revertHunks",
        {"stepId": step["stepId"], "file": file, "hunks": sorted(hunks)},
    )


@attrs.frozen
class PendingTarget:
    """The pending changes that a key applies to."""

    name: str  # for people
    params: dict[str, Any]  # for `review/keep` and `review/revert`; with the state that was shown


def all_pending(pending: Pending) -> PendingTarget:
    """Returns all listed pending changes, and no others. Raises `InvalidParams` if there are none."""
    if not pending.files:
        raise InvalidParams("nothing is pending", hint="v goes back to the history")
    count = len(pending.files)
    ids = {file_of(file): file["id"] for file in pending.files}
    name = "the one file that is" if count == 1 else f"all {count} files that are"
    return PendingTarget(f"{name} pending", {"files": list(ids), "expect": ids})


def pending_folder(name: str, pending: Pending) -> PendingTarget:
    """Returns all pending changes of the files in a folder."""
    return attrs.evolve(
        all_pending(pending),
        name=f"{len(pending.files)} file{'' if len(pending.files) == 1 else 's'} in {printable(name)}/",
    )


def pending_file(file: dict[str, Any]) -> PendingTarget:
    """Returns all pending changes of a file from `review/list` or `review/file`."""
    was = f", renamed from {printable(file['renamedFrom'])}" if "renamedFrom" in file else ""
    name = file_of(file)
    return PendingTarget(f"{printable(file['file'])}{was}", {"files": [name], "expect": {name: file["id"]}})


def pending_hunks(shown: dict[str, Any], hunks: Collection[int]) -> PendingTarget:
    """Returns some pending hunks, at least one and by index from 0, of a file from `review/file`; all are the file."""
    # also because a new or a deleted file has no hunks
    if len(hunks) == len(shown["hunks"]):
        return pending_file(shown)
    name = file_of(shown)
    numbers = ", ".join(str(index + 1) for index in sorted(hunks))
    kind = "hunk" if len(hunks) == 1 else "hunks"
    params = {"file": name, "hunks": sorted(hunks), "expect": {name: shown["id"]}}
    return PendingTarget(f"{kind} {numbers} of {printable(shown['file'])}", params)


def undo_pending(meant: PendingTarget) -> Operation:
    """Undoes pending changes."""
    title = f"Undo what agents did to {meant.name}?"
    return Operation(title, "review/revert", meant.params, way_back="'snapd undo' brings it back.")


def _named(step: dict[str, Any]) -> str:
    return f"{short(step['stepId'])} {title_of(step)}"


def _name(row: Row | None, file: str) -> str:
    files = () if row is None or row.entry is None else row.entry["files"]
    return next((str(result["file"]) for result in files if file_of(result) == file), file)


def steps_of(plan: dict[str, Any]) -> list[str]:
    """Returns the steps that a plan is about, if it is about whole steps."""
    return [_named(step) for step in plan.get("steps", ())]


def planned(plan: dict[str, Any]) -> list[list[tuple[str, str]]]:
    """Returns a line for each file of a plan, in parts with their styles; conflicts first, unchanged files omitted."""
    files = [file for file in plan["files"] if file["outcome"] != "unchanged" or "reason" in file]
    files.sort(key=lambda file: file["outcome"] != "conflict")
    return [planned_file(file) for file in files]


def planned_file(file: dict[str, Any]) -> list[tuple[str, str]]:
    """Describes what would happen to a file, in parts with their styles."""
    word, style = _WOULD[file["outcome"]]
    reason = f"  {reason_text(file['reason'], file.get('branch'))}" if "reason" in file else ""
    return [(f"{word:<9}", style), (printable(file["file"]), ""), (reason, "dim")]


def has_changes(outcome: dict[str, Any]) -> bool:
    """Whether a plan changes a file, or is about git."""
    return "git" in outcome or "chat" in outcome or any(file["outcome"] in _DONE for file in outcome["files"])


def is_as_decided(plan: dict[str, Any], decisions: dict[str, str]) -> bool:
    """Whether a plan changes only what the user decided to overwrite, and leaves nothing to decide."""
    changed = [file_of(file) for file in plan["files"] if file["outcome"] in _DONE]
    return not undecided(plan, decisions) and all(decisions.get(file) == "overwrite" for file in changed)


def outcome_text(operation: Operation, outcome: dict[str, Any]) -> str:
    """Describes what was done, in a sentence or two."""
    done = sum(file["outcome"] in _DONE for file in outcome["files"])
    left = [file for file in outcome["files"] if file["outcome"] not in _DONE and "reason" in file]
    changed = f"{done} file{'' if done == 1 else 's'} changed" if done else "No file was changed"
    git = "".join(
        f" {line}." for line in git_lines_of(operation, outcome, "redo with g" if operation.is_redo else "undo with g")
    )
    if not left:
        return f"{changed}.{git}"
    first = left[0]
    reason = f" ({reason_text(first['reason'], first.get('branch'))})"
    more = f", and {len(left) - 1} more" if len(left) > 1 else ""
    return f"{changed}. Left as it is: {printable(first['file'])}{reason}{more}.{git}"


def git_lines_of(operation: Operation, outcome: dict[str, Any], how: str | None) -> list[str]:
    """Describes what becomes of git; see `git_lines`."""
    lines = git_lines(outcome["git"], how, redone=operation.is_redo) if "git" in outcome else []
    return [printable(line) for line in lines]
