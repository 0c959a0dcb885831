"""`snapd stage`: puts what steps changed, and nothing else, into the git index of the project."""

from __future__ import annotations

import os
import shlex
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs
import pygit2

from snapd.cli.exit_codes import DONE, NOT_ALL
from snapd.cli.parsing.command import SESSION, STEP, Answer, Command, common
from snapd.cli.requests.connection import ask, folder_of, open_backend, pages
from snapd.cli.requests.names import all_sessions, find_session_or_step
from snapd.cli.terminal.layout import shell_name
from snapd.cli.terminal.naming import agent_name, session_name, short, step_text
from snapd.cli.terminal.output import Painter, print_json, printable, summary
from snapd.core.compare.text import is_binary
from snapd.model.errors import InvalidParams
from snapd.model.paths import is_utf8, shown, to_uri
from snapd.model.trees import is_among
from snapd.staging.changes import Contents, Loader
from snapd.staging.planning import Planner, proposed
from snapd.staging.repository import Git, Repository, StagingConflict

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Annotated, TextIO

    from snapd.backend import Backend
    from snapd.cli.parsing.usage import Parser
    from snapd.staging.changes import Owner
    from snapd.staging.planning import FilePlan, Plan
    from snapd.wire.values import FileChange

_DESCRIBED = 20
"""The maximum number of steps without a prompt that the message describes."""
_WHY_CONFLICT = {
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


class NotStaged(Answer):
    """A file that was not staged, though nothing is in conflict."""

    file: Annotated[str, "Relative to the folder."]
    uri: Annotated[str | None, "The exact `file:` URI. Present if the name is not valid UTF-8."] = None
    reason: Annotated[
        str, "Why: `ignored` (by git), `otherRepository`, or `changedSince` (by others, and the index has that)."
    ]


class StagedChanges(Answer):
    """What `stage` put into the index. The counts are those of the index before and after."""

    applied: Annotated[bool, "False for a dry run."]
    repository: Annotated[str, "The root of the git work tree."]
    files: Annotated[list[FileChange], "The files that changed in the index."]
    left: Annotated[list[NotStaged], "The files that were left out."]
    already_staged: Annotated[int, "How many other files the index has with changes: the commit has these, too."]
    open_steps: Annotated[list[str], "The steps of the sessions that are open: what they change is not staged yet."]
    message: Annotated[str, "A message for the commit, from the prompts of the steps that the last commit has not."]


def _arguments(parser: Parser) -> None:
    common(parser)
    parser.argument("names", "SESSION|STEP", f"{SESSION}; or {STEP}", nargs="+")
    parser.repeated("--file", "FILE", "files", "only what they changed in this file or folder")
    parser.flag("-n", "--dry-run", help="only show what would be staged")
    parser.flag(
        "--message", help="print the message that is proposed for the commit, and nothing else, on standard output"
    )


@Command("stage", "try and commit", _arguments, answer="StagedChanges", example="stage s1")
def stage(options: argparse.Namespace) -> int:
    """Put what steps changed, and nothing else, into the git index for the next commit.

    Put what steps changed into the index of the git repository, as 'git add' would if nobody else had changed
    the files: changes by you and other agents in the same files are not staged, and neither is what was
    undone. If the index has something else on the same lines, nothing is staged. The files of the folder are
    not touched. 'git restore --staged' takes it back.
    """
    with open_backend(options) as backend:
        sessions, steps = _named(backend, options.names)
        folder = os.path.realpath(os.fsencode(folder_of(options)))
        repository = Repository.around(folder, Git.of_user(os.environ))
        repository.check_idle()
        contents = Contents()
        loader = Loader(partial(ask, backend), folder, repository.top, contents)
        rows = loader.rows(sessions, steps)
        planner = Planner(repository, contents)
        plan = planner.plan(loader.chains(_chosen(options, loader, rows)))
        if plan.conflicts:
            raise _conflict(options, plan, folder, repository.top)
        owners = list(dict.fromkeys(owner for change in plan.pending for owner in change.owners))
        still_open = _open_steps(backend, sessions)
        message = proposed(list(_prompts(backend, owners)), _otherwise(backend, sessions, owners))
    if not options.dry_run:
        planner.carry_out(plan)
    answer = StageResult(
        plan=plan,
        contents=contents,
        folder=folder,
        top=repository.top,
        message=message,
        open_steps=still_open,
        applied=not options.dry_run,
        how_back="git restore --staged" if repository.has_commit else "git rm --cached",
    )
    if options.json:
        print_json(answer.as_json())
    elif options.message:
        print(message)
        _print_result(options, answer, sys.stderr)
    else:
        _print_result(options, answer, sys.stdout)
    return NOT_ALL if plan.left else DONE


def _named(backend: Backend, words: Iterable[str]) -> tuple[list[str], list[str]]:
    """Returns the sessions and the ended steps that some words stand for; raises `InvalidParams`, `UnknownSession`."""
    sessions: dict[str, None] = {}
    steps: dict[str, None] = {}
    for word in words:
        named = find_session_or_step(backend, word)
        if "stepId" not in named:
            sessions[named["sessionId"]] = None
        elif named["state"] == "open":
            raise InvalidParams(
                f"step {named['stepId']} is still open: what it changes is not known yet",
                hint=f"'snapd step end {short(named['stepId'])}' ends it",
                field="STEP",
            )
        else:
            steps[named["stepId"]] = None
    return list(sessions), list(steps)


def _open_steps(backend: Backend, session_ids: Iterable[str]) -> list[str]:
    return [
        step["stepId"]
        for session_id in session_ids
        for step in ask(backend, "step/find", {"sessionId": session_id, "open": True})["steps"]
    ]


def _chosen(
    options: argparse.Namespace, loader: Loader, rows: dict[bytes, dict[str, Any]]
) -> dict[bytes, dict[str, Any]]:
    """Returns the files that the command applies to; a moved file matches any of its names."""
    if not options.files:
        return rows
    chosen: set[bytes] = set()
    for name in options.files:
        full = os.path.abspath(os.path.join(options.directory, name))
        # resolve symlinks above the named file, but not the file itself
        path = loader.below_top(os.path.join(os.path.realpath(os.path.dirname(full)), os.path.basename(full)))
        below = {each for each in rows if is_among(each, (path,))}
        if not below:
            raise InvalidParams(
                f"{shell_name(name)}: no change of these steps is left there",
                hint="'snapd stage --dry-run' without --file shows what they changed",
                field="--file",
            )
        chosen |= below
    moves = [
        {path, loader.path(change["renamedFrom"])}
        for path, row in rows.items()
        for change in row["changes"]
        if "renamedFrom" in change
    ]
    while more := {name for move in moves if chosen & move for name in move} - chosen:
        chosen |= more
    return {path: row for path, row in rows.items() if path in chosen}


# -- the message


def _prompts(backend: Backend, owners: Sequence[Owner]) -> Iterator[str]:
    """Yields the prompts of the turns of some steps, the oldest first; else what agents say of the steps."""
    messages: list[tuple[str, str]] = []
    for session_id in dict.fromkeys(owner.session_id for owner in owners):
        wanted = {owner.message_id for owner in owners if owner.session_id == session_id} - {None}
        sent = pages(backend, "session/messages", {"sessionId": session_id}, "messages") if wanted else ()
        messages += [(each["at"], each["text"]) for each in sent if each["messageId"] in wanted and each.get("text")]
    yield from (text for _, text in sorted(messages, key=lambda each: each[0]))
    if messages:
        return
    for owner in owners[:_DESCRIBED]:
        for step in ask(backend, "step/find", {"prefix": owner.step_id, "limit": 1})["steps"]:
            if "description" in step:
                yield step_text({"description": step["description"]})


def _otherwise(backend: Backend, session_ids: Iterable[str], owners: Iterable[Owner]) -> str:
    known = {session["sessionId"]: session for session in all_sessions(backend)}
    names = dict.fromkeys((*session_ids, *(owner.session_id for owner in owners)))
    sessions = [known[name] for name in names if name in known]
    for session in sessions:
        if name := session_name(session):
            return name
    agents = list(dict.fromkeys(filter(None, map(agent_name, sessions))))
    return f"Changes by {' and '.join(agents)}" if agents else "Changes by an agent"


@attrs.frozen
class StageResult:
    """What was staged, or would be."""

    plan: Plan
    contents: Contents  # the bytes of the files
    folder: bytes  # names are relative to it
    top: bytes  # the root of the work tree, to which the paths of the plan are relative
    message: str  # for the commit
    open_steps: list[str]  # the steps of the sessions that are still open; their changes are not staged
    applied: bool  # False for a dry run
    how_back: str  # the git command that removes a file from the index

    def as_json(self) -> dict[str, Any]:
        """Returns the output for programs."""
        return {
            "applied": self.applied,
            "repository": shown(self.top),
            "files": self.rows(),
            "left": [
                {**_names(path, self.folder, self.top), "reason": reason}
                for path, reason in sorted(self.plan.left.items())
            ],
            "alreadyStaged": self.plan.others,
            "openSteps": self.open_steps,
            "message": self.message,
        }

    def rows(self) -> list[dict[str, Any]]:
        """Returns the files that change in the index, as the wire's changed files."""
        return [self._row(file) for file in self.plan.files]

    def _row(self, file: FilePlan) -> dict[str, Any]:
        old, new = self.contents.of(file.old), self.contents.of(file.new)
        binary = is_binary(old) or is_binary(new)
        added, deleted = (0, 0) if binary else _counts(old, new)
        row = _names(file.path, self.folder, self.top)
        row["status"] = "added" if file.old is None else "deleted" if file.new is None else "modified"
        row |= {"additions": added, "deletions": deleted, "binary": binary}
        if file.source is not None and file.new is None:
            return {**row, **_names(file.source, self.folder, self.top)}
        return (
            row if file.source is None else {**row, "renamedFrom": _names(file.source, self.folder, self.top)["file"]}
        )


def _print_result(options: argparse.Namespace, answer: StageResult, stream: TextIO) -> None:
    painter = Painter(options, stream)
    plan = answer.plan
    if not plan.files:
        text = "the index has all of it already" if plan.pending else "these steps have nothing to stage"
        print(f"snapd: {text}", file=stream)
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


def _conflict(options: argparse.Namespace, plan: Plan, folder: bytes, top: bytes) -> StagingConflict:
    rows = []
    for path, reason in sorted(plan.conflicts.items()):
        row = {**_names(path, folder, top), "reason": reason}
        if path in plan.shared:
            row["sharedWith"] = list(plan.shared[path])
        rows.append(row)
    if not options.json:
        painter = Painter(options, sys.stderr)
        for row in rows:
            print(f"{painter.paint('conflict', 'red')} {printable(row['file'])} ({_why(row)})", file=sys.stderr)
    text = f"{rows[0]['file']}: {_why(rows[0])}" if len(rows) == 1 else f"{len(rows)} files are in conflict"
    hint = None
    if all(row["reason"] == "shared" for row in rows):
        steps = dict.fromkeys(short(step) for row in rows for step in row["sharedWith"])
        hint = f"name the other steps as well to stage them together: {' '.join(steps)}"
    return StagingConflict(f"nothing was staged: {text}", hint=hint, files=rows)


def _why(row: dict[str, Any]) -> str:
    if row["reason"] == "shared":
        return f"shared with {', '.join(f'step {short(step)}' for step in row['sharedWith'])}: both were at work"
    return _WHY_CONFLICT[row["reason"]]


def _names(path: bytes, folder: bytes, top: bytes) -> dict[str, Any]:
    """Returns the fields that name a file, relative to the folder; with its URI if the name is not UTF-8."""
    full = os.path.normpath(os.path.join(top, path))
    name = os.path.relpath(full, folder)
    return {"file": shown(name)} if is_utf8(name) else {"file": shown(name), "uri": to_uri(full)}


def _counts(old: bytes, new: bytes) -> tuple[int, int]:
    _, added, deleted = pygit2.Patch.create_from(old, new).line_stats
    return added, deleted
