"""What `snapd stage` tells: what it staged, what it left out, and what is in conflict."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING, Any

import attrs
import pygit2

from snapd.cli.terminal.naming import short
from snapd.cli.terminal.output import Painter, printable, summary
from snapd.core.compare.text import is_binary
from snapd.core.paths import is_utf8, shown, to_uri
from snapd.staging.errors import StagingConflict

if TYPE_CHECKING:
    import argparse
    from typing import TextIO

    from snapd.staging.contents import Contents
    from snapd.staging.planning import FilePlan, Plan

_CONFLICTS = {
    "assumeUnchanged": "the index says that it does not change ('git update-index --no-assume-unchanged' ends that)",
    "attributes": "a .gitattributes above it is in the index only, so its blob is not known ('git restore' it)",
    "changedSince": "the index has something else on these lines",
    "conversions": "its attributes and the CRLF in the index do not fit together ('git add --renormalize' it)",
    "deletedSince": "the index does not have it ('git add' it first, or commit its deletion by hand)",
    "occupied": "the index has something else under this name",
    "shared": "another agent may have written it, too",
    "skipWorktree": "git passes it over ('git update-index --no-skip-worktree' ends that)",
    "takenBack": "what was taken back of it cannot be told from the rest",
}
_LEFT_OUT = {
    "changedSince": "others changed these lines since, and the index has that",
    "ignored": "git ignores it",
    "otherRepository": "it belongs to another git repository",
}


@attrs.frozen
class Answer:
    """What was staged, or would be.

    Attributes:
        plan: what was done.
        contents: the bytes of the files.
        folder: the folder, to which names are relative.
        top: the root of the work tree, to which the paths of the plan are relative.
        message: for the commit.
        open_steps: the steps of the sessions that are still open: what they change is not staged.
        applied: False for a dry run.
        how_back: the git command that takes a file back out of the index.
    """

    plan: Plan
    contents: Contents
    folder: bytes
    top: bytes
    message: str
    open_steps: list[str]
    applied: bool
    how_back: str

    def as_json(self) -> dict[str, Any]:
        """What programs read."""
        return {
            "applied": self.applied,
            "repository": shown(self.top),
            "files": self.rows(),
            "left": [
                {**named(path, self.folder, self.top), "reason": reason}
                for path, reason in sorted(self.plan.left.items())
            ],
            "alreadyStaged": self.plan.others,
            "openSteps": self.open_steps,
            "message": self.message,
        }

    def rows(self) -> list[dict[str, Any]]:
        """The files that change in the index, as the wire has changed files."""
        return [self._row(file) for file in self.plan.files]

    def _row(self, file: FilePlan) -> dict[str, Any]:
        old, new = self.contents.of(file.old), self.contents.of(file.new)
        binary = is_binary(old) or is_binary(new)
        added, deleted = (0, 0) if binary else _counts(old, new)
        row = named(file.path, self.folder, self.top)
        row["status"] = "added" if file.old is None else "deleted" if file.new is None else "modified"
        row |= {"additions": added, "deletions": deleted, "binary": binary}
        if file.source is not None and file.new is None:
            return {**row, **named(file.source, self.folder, self.top)}
        return row if file.source is None else {**row, "renamedFrom": named(file.source, self.folder, self.top)["file"]}


def tell(options: argparse.Namespace, answer: Answer, stream: TextIO) -> None:
    """Tells people what was staged.

    Args:
        options: of the command; `color`, `directory` and `names` are read.
        answer: what was staged.
        stream: where the words go.
    """
    painter = Painter(options, stream)
    plan = answer.plan
    if not plan.files:
        said = "the index has all of it already" if plan.pending else "these steps have nothing to stage"
        print(f"snapd: {said}", file=stream)
    else:
        print(summary(painter, answer.rows()), file=stream)
    for row in answer.as_json()["left"]:
        print(
            f"{painter.paint('left out', 'yellow')} {printable(row['file'])} ({_LEFT_OUT[row['reason']]})", file=stream
        )
    if answer.open_steps:
        number = "1 step is" if len(answer.open_steps) == 1 else f"{len(answer.open_steps)} steps are"
        print(painter.paint(f"{number} still open: what changes there is not staged", "yellow"), file=stream)
    if plan.files and plan.others:
        number = "1 other file has" if plan.others == 1 else f"{plan.others} other files have"
        print(painter.paint(f"{number} changes in the index already: the commit has these, too", "yellow"), file=stream)
    if plan.files and answer.applied and not options.message:
        where = [] if options.directory == "." else ["-C", options.directory]
        again = shlex.join(["snapd", "stage", *where, *options.names, "--message"])
        print(painter.paint(f'git commit -e -m "$({again})"', "dim"), file=stream)
        print(painter.paint(f"'{answer.how_back} FILE' takes a file back out of the index", "dim"), file=stream)


def conflict(options: argparse.Namespace, plan: Plan, folder: bytes, top: bytes) -> StagingConflict:
    """The error for files that cannot be staged; tells people of each.

    Args:
        options: of the command; `color` and `json` are read.
        plan: with conflicts.
        folder: the folder, to which names are relative.
        top: the root of the work tree.
    """
    rows = []
    for path, reason in sorted(plan.conflicts.items()):
        row = {**named(path, folder, top), "reason": reason}
        if path in plan.shared:
            row["sharedWith"] = list(plan.shared[path])
        rows.append(row)
    if not options.json:
        painter = Painter(options, sys.stderr)
        for row in rows:
            print(f"{painter.paint('conflict', 'red')} {printable(row['file'])} ({_why(row)})", file=sys.stderr)
    said = f"{rows[0]['file']}: {_why(rows[0])}" if len(rows) == 1 else f"{len(rows)} files are in conflict"
    hint = None
    if all(row["reason"] == "shared" for row in rows):
        steps = dict.fromkeys(short(step) for row in rows for step in row["sharedWith"])
        hint = f"name the other steps as well to stage them together: {' '.join(steps)}"
    return StagingConflict(f"nothing was staged: {said}", hint=hint, files=rows)


def _why(row: dict[str, Any]) -> str:
    if row["reason"] == "shared":
        return f"shared with {', '.join(f'step {short(step)}' for step in row['sharedWith'])}: both were at work"
    return _CONFLICTS[row["reason"]]


def named(path: bytes, folder: bytes, top: bytes) -> dict[str, Any]:
    """The fields that name a file, relative to the folder; with its URI if the name is not UTF-8."""
    full = os.path.normpath(os.path.join(top, path))
    name = os.path.relpath(full, folder)
    return {"file": shown(name)} if is_utf8(name) else {"file": shown(name), "uri": to_uri(full)}


def _counts(old: bytes, new: bytes) -> tuple[int, int]:
    _, added, deleted = pygit2.Patch.create_from(old, new).line_stats
    return added, deleted
