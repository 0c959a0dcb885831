"""`snapd bisect`."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from typing import TYPE_CHECKING, Any

from snapd.cli.exit_codes import DONE, FAILED, NOT_ALL
from snapd.cli.requests.connection import ask, backend, pages
from snapd.cli.requests.folder import folder_of
from snapd.cli.requests.names import all_sessions, find_session, latest_session
from snapd.cli.terminal.filenames import printable
from snapd.cli.terminal.output import Painter, print_json
from snapd.core.errors import InvalidParams
from snapd.core.paths import absolute, from_uri, to_uri
from snapd.worktree.export.scratch import Scratch

from . import telling
from .command import Command
from .trials import Change, Found, Trial, changes_of, find, span

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from snapd.backend import Backend

_ON_A_PAGE = 200
_FOR_EXAMPLE = "for example: snapd bisect -- make test"
_CODES = {"found": DONE, "unclear": NOT_ALL}


def bisect(options: argparse.Namespace) -> int:
    """Finds the step that broke a command; says so, or what kept it from being found."""
    words = _command(options)
    folder = os.path.realpath(folder_of(options))
    with backend(options) as found:
        session = find_session(found, options.session or latest_session(found))
        steps = _steps(found, session)
        changes = changes_of(steps, _others(found, session, steps))
        if not changes:
            raise InvalidParams(
                f"session {session['sessionId']} has no step that changed anything and still stands",
                hint="'snapd log' shows the steps; name another session",
                field="SESSION",
            )
        trials: list[Trial] = []
        result = _search(options, found, os.fsencode(folder), words, changes, trials)
        suspects = [_suspect(found, change) for change in result.suspects]
    answer = {
        "sessionId": session["sessionId"],
        "outcome": result.outcome,
        "exitCode": result.exit_code,
        "suspects": suspects,
        "trials": [{"hash": each.tree, "exitCode": each.exit_code, "verdict": each.verdict} for each in trials],
    }
    if options.json:
        print_json(answer)
    else:
        telling.tell(Painter(options), answer)
    return _CODES.get(result.outcome, FAILED)


def _search(
    options: argparse.Namespace,
    found: Backend,
    root: bytes,
    words: list[str],
    changes: list[Change],
    trials: list[Trial],
) -> Found:
    """Runs the command in a folder of its own, which is removed in the end; adds each run to `trials`."""
    above = os.fsencode(os.path.realpath(tempfile.gettempdir()))
    if above == root or above.startswith(root.rstrip(b"/") + b"/"):
        raise InvalidParams(
            f"the folder for temporary files, {printable(os.fsdecode(above))}, lies in the project",
            hint="set TMPDIR to a folder outside of it",
            field="TMPDIR",
        )
    painter = Painter(options, sys.stderr)
    with Command(words) as command:
        scratch = Scratch(above, os.path.basename(root) or b"project")
        exports = Exports(found, root, scratch, reuse=options.reuse)

        def run(state: int, tree: str, more: int) -> Trial:
            telling.before_run(painter, telling.name_of(state, changes), tree, more)
            with command.interruptible():
                folder = exports.bring(tree)
            trial = Trial(tree, command.run(folder))
            trials.append(trial)
            telling.after_run(painter, trial.verdict, trial.exit_code)
            return trial

        try:
            return find(changes, run)
        finally:
            scratch.remove()


def _command(options: argparse.Namespace) -> list[str]:
    """The words of the command.

    Raises:
        InvalidParams: there are none, or there is no such program.
    """
    words: list[str] = options.words
    if not words:
        raise InvalidParams("expected a command after --", hint=_FOR_EXAMPLE, field="COMMAND")
    # one with a relative path is looked for in each snapshot
    if (os.path.isabs(words[0]) or not os.path.dirname(words[0])) and shutil.which(words[0]) is None:
        raise InvalidParams(
            f"{printable(words[0])}: command not found",
            hint="check its name, and PATH; what only a shell understands is for sh -c '...'",
            field="COMMAND",
        )
    return words


def _steps(found: Backend, session: dict[str, Any]) -> list[dict[str, Any]]:
    return list(pages(found, "session/steps", {"sessionId": session["sessionId"], "limit": _ON_A_PAGE}, "steps"))


def _others(found: Backend, session: dict[str, Any], steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The steps of the sessions that may have been at work at the same time."""
    time = span(steps)
    if time is None:
        return []
    first, last = time
    return [
        step
        for other in all_sessions(found)
        if other["sessionId"] != session["sessionId"]
        and other["startedAt"] <= last
        and other.get("endedAt", last) >= first
        for step in _steps(found, other)
    ]


def _suspect(found: Backend, change: Change) -> dict[str, Any]:
    """A change for the answer: who was at work and changed any of the files, and what none of these steps did."""
    params = {"from": change.before, "to": change.after, "contents": False, "renames": True}
    files = list(pages(found, "snapshot/diffFull", params, "diffs"))
    differing = _names(files)
    steps = [step for step in change.steps if not differing.isdisjoint(_names(step.get("files", ())))]
    # what an open step changes is not known yet
    steps += [step for step in change.steps if "files" not in step]
    known = set().union(*(_names(step.get("files", ())) for step in steps))
    return {
        "before": change.before,
        "after": change.after,
        "steps": steps,
        "prompts": _prompts(found, steps),
        "files": files,
        "others": [row["file"] for row in files if _names([row]).isdisjoint(known)],
    }


def _names(rows: Iterable[dict[str, Any]]) -> set[str]:
    """The names of files in an answer, old ones of those that moved included."""
    return {row[key] for row in rows for key in ("file", "renamedFrom") if key in row}


def _prompts(found: Backend, steps: list[dict[str, Any]]) -> list[str]:
    """The prompts of steps that are known, each once."""
    asked = {step["messageId"]: step["sessionId"] for step in steps if "messageId" in step}
    prompts: dict[str, None] = {}
    for session in dict.fromkeys(asked.values()):
        for message in pages(found, "session/messages", {"sessionId": session, "limit": _ON_A_PAGE}, "messages"):
            if asked.get(message["messageId"]) == session and "text" in message:
                prompts[message["text"]] = None
    return list(prompts)


class Exports:
    """The exports into one folder.

    Args:
        found: who answers.
        root: the workspace, absolute and canonical.
        scratch: the folder.
        reuse: whether what commands made in it stays, as far as no snapshot has it.
    """

    def __init__(self, found: Backend, root: bytes, scratch: Scratch, *, reuse: bool) -> None:
        self._found = found
        self._root = root
        self._scratch = scratch
        self._reuse = reuse
        self._tree: str | None = None

    def bring(self, tree: str) -> bytes:
        """Has the folder be a snapshot; gives its path.

        Args:
            tree: the hash of the snapshot.

        Raises:
            SnapdError: it could not be exported; the folder is of no use any more.
        """
        about = {"hash": tree, "directory": to_uri(self._scratch.path)}
        if self._tree is None:
            ask(self._found, "snapshot/export", about)
            self._scratch.note(None)
        else:
            patch = ask(self._found, "snapshot/patch", {"hash": self._tree, "to": tree})
            wrong = self._scratch.clear(map(self._relative, patch["files"]), keep=self._reuse)
            names = [absolute(self._root, path) for path in sorted(wrong)]
            ask(self._found, "snapshot/export", {**about, "files": names})
            self._scratch.note(wrong)
        self._tree = tree
        return self._scratch.path

    def _relative(self, name: str) -> bytes:
        """The path of a file in a patch, which is absolute, or a URI where it is not UTF-8."""
        path = from_uri(name, "files") if name.startswith("file:/") else os.fsencode(name)
        return path[len(self._root.rstrip(b"/")) + 1 :]
