"""Formats the outcome of an undo or redo for the conversation, as Markdown."""

from __future__ import annotations

import shlex
from datetime import datetime
from typing import TYPE_CHECKING

from snapd.backend import only_whole_step
from snapd.model.errors import SnapdError
from snapd.wire.words import (
    ELSEWHERE_REASONS,
    LEFT_OUTCOMES,
    STATES,
    agent_title,
    git_lines,
    git_words,
    moves_git,
    reason_text,
)

from .messages import WITH_GIT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from snapd_client.protocol import ChangedBy, Contested, FileChange, FileOutcome, Step, StepsOutcome

NOTHING_RECORDED = "The agent has not changed anything in this session."

_OUTCOMES = {
    "restored": "restored",
    "deleted": "deleted",
    "merged": "undone; later changes stay",
    "unchanged": "nothing to change",
    "conflict": "**left unchanged**",
    "kept": "**left unchanged**",
    "skipped": "**left unchanged**",
    "failed": "**could not be written**",
}
_REDONE = {"restored": "changed again", "merged": "changed again; later changes stay"}
_STATES = {"undone": "undone", "partly": "partly undone", "open": "running"}
_LEFT = ("conflict", "kept", "skipped", "failed")
_SHOWN = 30
"""The most files listed for an undo or redo."""
_LONGEST_GIT = 1000
_NAMED = 3
"""The most files listed for a step."""


def refusal(error: Exception) -> str:
    """Explains why a command failed, and what to do."""
    if isinstance(error, SnapdError):
        return f"snapd: {error.message}.\n\n{_sentence(error.hint)}"
    return f"snapd: {error}."


def done(result: StepsOutcome, name: str, folder: str, *, redone: bool = False) -> str:
    """Describes what an undo or redo did; `result` has `details`, and ids as they are shown."""
    rows = result["files"]
    left = [row for row in rows if row["outcome"] in LEFT_OUTCOMES or row.get("reason") in ELSEWHERE_REASONS]
    changed = [row for row in rows if row["outcome"] not in (*LEFT_OUTCOMES, "unchanged")]
    verb = "Redid" if redone else "Undid"
    is_git_changed = moves_git(result.get("git"))
    is_nothing_asked = not rows and ("git" not in result or result["steps"] != [])
    if not left and (changed or is_git_changed or is_nothing_asked):
        head = f"{verb} {name}."
    elif changed or is_git_changed:
        head = f"{verb} {name}, but not in every file."
    else:
        head = f"Nothing was changed: {name} {'was not redone' if redone else 'was not undone'}."
    paragraphs = [head, file_lines(result, redone=redone), *_advice(result, left, folder, redone=redone)]
    if (changed or is_git_changed) and not redone:
        paragraphs.append(f"`/redo{' --git' if is_git_changed else ''}` redoes it.")
    return "\n\n".join(filter(None, paragraphs))


def file_lines(result: StepsOutcome, *, redone: bool) -> str:
    """Lists the outcome of each file, and what becomes of git; `result` has `details`."""
    # once it is undone, only its name leads to a step
    how = "/redo --git" if redone else f"/undo {only_whole_step(result['steps']) or 'STEP'} --git"
    rows = result["files"]
    words = {**_OUTCOMES, **(_REDONE if redone else {})}
    why = _whys(result)
    lines = [f"- {code(row['file'])}: {words.get(row['outcome'], row['outcome'])}{why(row)}" for row in rows[:_SHOWN]]
    if len(rows) > _SHOWN:
        lines.append(f"- and {len(rows) - _SHOWN} more files")
    git = (
        git_lines(result["git"], f"“{WITH_GIT}”" if "plan" in result else how, redone=redone) if "git" in result else []
    )
    return "\n".join([*lines, *(f"- {plain(line, _LONGEST_GIT)}" for line in git)])


def turn_lines(steps: list[Step], prompt: str | None) -> list[str]:
    """Lists a turn: a line for the prompt, and one for each call that changed something. `steps` come oldest first."""
    first = steps[0]
    name = f"**{prompt}**" if prompt else "**a prompt**" if first.get("messageId") else "**no prompt**"
    head = f"- {_clock(first['startedAt'])} {name}"
    calls = steps
    if "partId" not in first:
        calls = steps[1:]
        within = {row["file"] for step in calls for row in step.get("files", ())}
        own = [row for row in first.get("files", ()) if row["file"] not in within]
        # a step without changes of its own keeps its state, whatever happens to its parts
        states = {first["state"]} if own or not calls else {step["state"] for step in calls}
        state = states.pop() if len(states) == 1 else "partly" if "undone" in states else "applied"
        head += f" `{first['stepId']}`{_state(state)}{_files(own)}{_git(first) if not calls else ''}"
    lines = [head]
    for step in calls:
        title = step.get("description") or step.get("tool") or "a call"
        head = f"  - `{step['stepId']}` {plain(title)}{_state(step['state'])}"
        lines.append(f"{head}{_files(step.get('files', []))}{_git(step)}")
    return lines


def shortened(prompt: str) -> str | None:
    """The first line of a prompt, shortened for display; None if it is empty."""
    line = next((line.strip() for line in prompt.splitlines() if line.strip()), "")
    return plain(line) or None


def _contested(result: StepsOutcome) -> list[Contested]:
    return result["details"].get("contested", []) if "details" in result else []


def _whys(result: StepsOutcome) -> Callable[[FileOutcome], str]:
    contested: dict[str, Contested] = {}
    for row in _contested(result):
        contested.setdefault(row["file"], row)

    def why(row: FileOutcome) -> str:
        if "reason" not in row:
            return ""
        cause = contested.get(row["file"])
        line = f", in line {cause['dispute']['line']}" if cause and "dispute" in cause else ""
        who = " and ".join(dict.fromkeys(map(_who, cause["by"] if cause else ())))
        return f" ({reason_text(row['reason'], row.get('branch'))}{line}{f', by {who}' if who else ''})"

    return why


def _who(changed_by: ChangedBy) -> str:
    if changed_by["author"] in ("user", "unknown"):
        return "you" if changed_by["author"] == "user" else "someone"
    if changed_by["author"] == "step":
        agent = changed_by.get("agent")
        return f"step `{changed_by['stepId']}`" + (f" of {plain(agent_title(agent))}" if agent else "")
    return f"a {changed_by.get('kind', 'restore')}"


def _advice(result: StepsOutcome, left: list[FileOutcome], folder: str, *, redone: bool) -> Iterable[str]:
    if not any(row["outcome"] == "conflict" for row in left):
        return
    here = shlex.join(["snapd", "redo" if redone else "undo", "-C", folder])
    names = [] if redone else list(dict.fromkeys(row["name"] for row in _contested(result)))
    steps = {step["stepId"] for step in result["steps"]}
    commands = [f"{here} {name}" for name in names if name in steps] or [here]
    lines = ["Edit these files yourself, or run one of these in a terminal (a snapshot keeps the current files):", ""]
    for command in commands:
        lines.append(f"- `{command} --on-conflict overwrite` overwrites the later changes")
        lines.append(f"- `{command} --on-conflict keep` keeps the later changes and resolves the conflict")
    yield "\n".join(lines)


def _files(files: list[FileChange]) -> str:
    named = [f"{code(row['file'])} +{row['additions']} -{row['deletions']}" for row in files[:_NAMED]]
    more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
    return f": {', '.join(named)}{more}" if named else ""


def _git(step: Step) -> str:
    return f"; git: {plain(git_words(step['git']), _LONGEST_GIT)}" if "git" in step else ""


def _state(state: str) -> str:
    words = STATES.get(state, state)
    return f" ({words})" if words else ""


def _clock(at: str) -> str:
    return datetime.fromisoformat(at).astimezone().strftime("%H:%M")


def code(name: str) -> str:
    """A foreign name as Markdown code."""
    shown = "".join(character if character.isprintable() else "�" for character in name)
    return f"`` {shown} ``" if "`" in shown else f"`{shown}`"


def plain(text: str, longest: int = 60) -> str:
    """A foreign text on one line, with Markdown characters escaped."""
    line = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    short = line if len(line) <= longest else line[: longest - 1] + "…"
    return "".join(f"\\{character}" if character in "\\`*_[]<>" else character for character in short)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"
