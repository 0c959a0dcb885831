"""What the tools answer, for whoever reads it: a model, or the person at the client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .results import MAX_DIFF, MAX_FILES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from snapd.wire.values import FileChange, FileOutcome

    from .results import Changed, Changes, Entry

_SHORT = 8
_LISTED = 10
"""How many files of an entry the text of a list has."""
_WILL = {
    "restored": "restore",
    "deleted": "delete",
    "merged": "merge",
    "conflict": "leave, in conflict",
    "kept": "keep",
    "skipped": "skip",
    "unchanged": "leave as it is",
    "failed": "fail",
}


def cut(diff: str) -> tuple[str, int | None]:
    """A diff as far as it is given to a model: its first whole lines; and its length, where that is not all of it."""
    if len(diff) <= MAX_DIFF:
        return diff, None
    return diff[: diff.rfind("\n", 0, MAX_DIFF) + 1], len(diff)


def diff_text(diff: str, length: int | None) -> str:
    """A diff with a note, where it was cut."""
    if length is None:
        return diff or "(no line differs)"
    return f"{diff}[cut: these are {len(diff)} of {length} characters; name `files` to see theirs]"


def entry_line(entry: Entry) -> str:
    """An entry as one line, without its files."""
    words = [entry.at, entry.kind, *([entry.step_id] if entry.step_id is not None else [])]
    who = "by the user" if entry.kind == "user" else entry.agent
    words += [word for word in (who, entry.tool, entry.description) if word]
    marks = [entry.state] if entry.state not in (None, "applied") else []
    if entry.mine:
        marks.append("this session")
    elif entry.session_id is not None:
        marks.append(f"session {entry.session_id}")
    if entry.steps:
        marks.append("of " + ", ".join(entry.steps))
    return " ".join(words) + (f" ({', '.join(marks)})" if marks else "")


def changes_text(changes: Changes, most: int = MAX_FILES) -> str:
    """The files that changed, a line for each, and a total."""
    lines = [f"  {_file_line(row)}" for row in changes.files[:most]]
    if changes.file_count > len(lines):
        lines.append(f"  ... and {changes.file_count - len(lines)} more")
    if not lines:
        return "  no file changed"
    return "\n".join(lines)


def history_text(entries: Sequence[Entry], more: bool) -> str:
    """The entries, latest first."""
    if not entries:
        return "Nothing has happened here yet that snapd knows of."
    lines = [f"{entry_line(entry)}\n{changes_text(entry, _LISTED)}" for entry in entries]
    return "\n".join([*lines, *(["There is more: pass `cursor`."] if more else [])])


def plan_text(plan: Changed) -> str:
    """What a plan is about: steps, files, and totals."""
    lines = []
    for step in plan.steps or ():
        what = " ".join(word for word in (step.agent, step.tool, step.description) if word)
        lines.append(f"step {step.step_id[:_SHORT]} {what}".rstrip() + f": {step.state}")
    lines += [f"  {_outcome_line(row)}" for row in plan.files]
    if plan.file_count > len(plan.files):
        lines.append(f"  ... and {plan.file_count - len(plan.files)} more")
    lines.append(f"{_files(plan.file_count)}, +{plan.additions} -{plan.deletions} lines" + _in_conflict(plan))
    return "\n".join(lines)


def told(tool: str, changed: Changed) -> str:
    """What a tool that changes files answers."""
    heads: dict[str, str] = {
        "planned": f"Plan. Nothing was changed yet; to carry it out, call `{tool}` again with the same arguments and "
        f'token "{changed.token}".',
        "done": f"Done. The snapshot of the files before is {changed.before}.",
        "unchanged": "There is nothing to do: the files are like that already.",
        "conflict": "Nothing was changed, because of conflicts: others changed these files since.",
        "refused": "Refused; nothing was changed. The token is not that of this plan: the folder, the timeline or the "
        f'arguments have changed. This is the plan now; its token is "{changed.token}".',
        "declined": "The user said no; nothing was changed. Do not try again unless they ask for it.",
    }
    lines = [heads[changed.status]]
    if changed.differs:
        lines.append("The folder changed while this was done, so it is not quite what was planned; see the files.")
    lines.append(plan_text(changed))
    if changed.status in ("planned", "refused", "done"):
        lines.append(diff_text(changed.diff, changed.diff_length))
    return "\n".join(lines)


def failure_text(kind: str, message: str, hint: str) -> str:
    """What a call that failed answers."""
    return f"{kind}: {message}\nhint: {hint}"


def question_text(tool: str, plan: Changed, *, again: bool) -> str:
    """What the person is asked."""
    verb = {"undo": "Undo this?", "redo": "Do this again?"}.get(tool, "Bring this back?")
    head = "The folder has changed meanwhile, so this is another plan. " if again else ""
    return f"{head}{verb} A snapshot keeps the files as they are now.\n{plan_text(plan)}"


def _file_line(row: FileChange) -> str:
    was = f" (was {row.renamed_from})" if row.renamed_from is not None else ""
    counts = "binary" if row.binary else f"+{row.additions} -{row.deletions}"
    return f"{row.status} {row.file}{was} {counts}"


def _outcome_line(row: FileOutcome) -> str:
    reason = f" ({row.reason})" if row.reason is not None else ""
    return f"{_WILL[row.outcome]}: {row.file}{reason}"


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"


def _in_conflict(plan: Changed) -> str:
    return f"; {plan.conflicts} in conflict" if plan.conflicts else ""
