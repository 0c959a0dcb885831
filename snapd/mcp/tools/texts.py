"""The text answers of the tools, for the model or the user at the client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.wire.words import OUTCOMES, agent_title, reason_text

from .results import MAX_DIFF, MAX_FILES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from snapd.wire.values import FileChange, FileOutcome

    from .results import Blame, BlamedRange, ChangeResult, Changes, Entry, Status

_LISTED = 10


def cut(diff: str) -> tuple[str, str | None]:
    """The first whole lines of a diff that fit into the limit, and a note if that is not all of it."""
    if len(diff) <= MAX_DIFF:
        return diff, None
    kept = diff[: diff.rfind("\n", 0, MAX_DIFF) + 1]
    return kept, f"The diff is truncated to {len(kept)} of {len(diff)} characters."


def paragraphs(*texts: str | None) -> str:
    """Joins the texts that are not empty with blank lines."""
    return "\n".join(text.rstrip("\n") for text in texts if text)


def counted(files: int) -> str:
    """A number of files in words."""
    return "1 file" if files == 1 else f"{files} files"


def entry_line(entry: Entry) -> str:
    """An entry as one line, without its files."""
    words = [entry.at, entry.kind, *([entry.step_id] if entry.step_id is not None else [])]
    who = "by an unknown author" if entry.unknown else "by the user" if entry.kind == "user" else entry.agent
    words += [_shown(word) for word in (who, entry.tool, entry.description) if word]
    marks = [entry.state] if entry.state not in (None, "applied") else []
    if entry.mine:
        marks.append("this session")
    elif entry.session_id is not None:
        marks.append(f"session {_shown(entry.session_id)}")
    if entry.message_id is not None:
        marks.append(f"message {_shown(entry.message_id)}")
    if entry.steps:
        marks.append("of " + ", ".join(entry.steps))
    return " ".join(words) + (f" ({', '.join(marks)})" if marks else "")


def changes_text(changes: Changes, most: int = MAX_FILES) -> str:
    """The changed files, one per line."""
    lines = [f"  {_file_line(row)}" for row in changes.files[:most]]
    if changes.file_count > len(lines):
        lines.append(f"  ... and {changes.file_count - len(lines)} more")
    if not lines:
        return "  no file changed"
    return "\n".join(lines)


def entry_text(entry: Entry, most: int = MAX_FILES) -> str:
    """An entry with its files, one per line, and what it did to git."""
    git = [] if entry.git is None else [f"  git: {_shown(entry.git)}"]
    return "\n".join([entry_line(entry), changes_text(entry, most), *git])


def history_text(entries: Sequence[Entry], cursor: str | None) -> str:
    """The entries, latest first, and how to see more."""
    if not entries:
        return "snapd has recorded nothing in this folder yet."
    lines = [entry_text(entry, _LISTED) for entry in entries]
    return paragraphs(*lines, cursor and f'There is more: call again with cursor "{cursor}".')


def blame_text(blame: Blame) -> str:
    """The authors of a file's lines: one line per range, followed by the text if there is any."""
    count = "1 line" if blame.line_count == 1 else f"{blame.line_count} lines"
    lines = [f"{_shown(blame.path)}: {count}"]
    for each in blame.ranges:
        lines.append(_range_line(each))
        if each.text is not None:
            lines += [f"{number}\t{line}" for number, line in enumerate(each.text.split("\n"), each.first)]
    return "\n".join([*lines, *filter(None, [blame.note])])


def plan_text(plan: ChangeResult) -> str:
    """The steps, files and totals of a plan."""
    lines = []
    for step in plan.steps or ():
        what = " ".join(_shown(word) for word in (agent_title(step.agent or ""), step.tool, step.description) if word)
        state = f": {step.state}" if plan.status == "done" else ""
        lines.append(f"step {step.step_id} {what}".rstrip() + state)
    lines += [f"  {_outcome_line(row, is_done=plan.status == 'done')}" for row in plan.files]
    if plan.file_count > len(plan.files):
        lines.append(f"  ... and {plan.file_count - len(plan.files)} more")
    left = f"; {plan.left} left unchanged" if plan.left else ""
    lines.append(f"{counted(plan.file_count)}, +{plan.additions} -{plan.deletions} lines{left}")
    return "\n".join([*lines, *map(_shown, plan.git or ())])


def note(
    tool: str, status: Status, *, token: str | None, left: int, unanswered: bool, differs: bool, cut_note: str | None
) -> str:
    """Explains a status and what to do next, in the structured result too: some clients show models only that."""
    values: dict[Status, str] = {
        "planned": f"This is a plan; nothing has changed yet. To carry it out, call `{tool}` again with the same "
        f'arguments and token "{token}".',
        "done": "Done.",
        "unchanged": "There is nothing to do: the files already have this content. A step counts as undone only "
        "if some of its changes were taken back.",
        "blocked": "Nothing was changed: every file is blocked. Each row gives the reason.",
        "refused": "Nothing was changed: the token belongs to another plan, because the folder, the timeline or the "
        f'arguments have changed since. This is the current plan; its token is "{token}".',
        "declined": "Nothing was changed: the user, or the client on their behalf, did not agree. Do not try again "
        "unless the user asks for it.",
    }
    sentences = [values[status]]
    if unanswered:
        sentences.insert(0, "The user dismissed the question, or the client could not ask.")
    if left and status in ("planned", "refused", "done"):
        verb = "stayed" if status == "done" else "would stay"
        sentences.append(f"{counted(left)} {verb} unchanged; each row gives the reason.")
    if differs:
        sentences.append("The folder changed in the meantime, so the result differs from the plan.")
    return " ".join([*sentences, *([cut_note] if cut_note else [])])


def change_text(changed: ChangeResult) -> str:
    """The answer of a tool that changes files."""
    return paragraphs(changed.note, plan_text(changed), changed.diff)


def failure_text(kind: str, message: str, hint: str) -> str:
    """The answer of a failed call."""
    return f"{kind}: {message}\nhint: {hint}"


def question_text(tool: str, plan: ChangeResult, *, again: bool) -> str:
    """The question to the user."""
    verb = {"undo": "Undo this?", "redo": "Redo this?"}.get(tool, "Restore this?")
    head = "The folder has changed since, so this is a new plan. " if again else ""
    return f"{head}{verb} A snapshot keeps the current files.\n{plan_text(plan)}"


def _range_line(each: BlamedRange) -> str:
    lines = f"line {each.first}" if each.first == each.last else f"lines {each.first}-{each.last}"
    if each.author == "before":
        known = {"according to a git-ai note, commit": each.noted, "according to git, commit": each.commit}
        by = next((f"; {how} {_shown(what)}" for how, what in known.items() if what is not None), "")
        return f"{lines}: from before snapd started recording{by}"
    who = {"user": ["the user"], "unknown": ["unknown author"]}.get(each.author, ["step", each.step_id, each.agent])
    marks = ["this session"] if each.mine else []
    if each.session_id is not None and not each.mine:
        marks.append(f"session {_shown(each.session_id)}")
    if each.message_id is not None:
        marks.append(f"message {_shown(each.message_id)}")
    words = " ".join(_shown(word) for word in (*who, each.at) if word)
    return f"{lines}: {words}" + (f" ({', '.join(marks)})" if marks else "")


def _file_line(row: FileChange) -> str:
    was = f" (was {_shown(row.renamed_from)})" if row.renamed_from is not None else ""
    counts = "binary" if row.binary else f"+{row.additions} -{row.deletions}"
    return f"{row.status} {_shown(row.file)}{was} {counts}"


def _outcome_line(row: FileOutcome, *, is_done: bool) -> str:
    reason = f" ({reason_text(row.reason, row.branch and _shown(row.branch))})" if row.reason is not None else ""
    return f"{row.outcome if is_done else OUTCOMES[row.outcome].planned}: {_shown(row.file)}{reason}"


def _shown(text: str) -> str:
    """A foreign text without characters that could fake another line or control the user's terminal."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
