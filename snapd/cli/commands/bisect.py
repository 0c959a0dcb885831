"""`snapd bisect`."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from typing import TYPE_CHECKING, Any, Literal

from snapd.cli.exit_codes import DONE, FAILED, NOT_ALL
from snapd.cli.parsing.command import Answer, Command, common
from snapd.cli.requests.connection import ask, folder_of, open_backend, pages
from snapd.cli.requests.names import all_sessions, find_session, latest_session
from snapd.cli.terminal.layout import one_line, printable, shell_name
from snapd.cli.terminal.naming import short
from snapd.cli.terminal.output import Painter, print_json, step_line, summary
from snapd.model.errors import InvalidParams
from snapd.model.paths import absolute, from_uri, to_uri
from snapd.worktree.export import Scratch

from .bisect_trials import Change, Trial, TrialCommand, TrialResult, changes_of, find, span

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Annotated, Literal

    from snapd_client.protocol import ExportParams

    from snapd.backend import Backend
    from snapd.cli.parsing.usage import Parser
    from snapd.wire.session import Step
    from snapd.wire.values import FileDiff, TreeHash

    from .bisect_trials import Verdict

_ON_A_PAGE = 200
_FOR_EXAMPLE = "for example: snapd bisect -- make test"
_CODES = {"found": DONE, "unclear": NOT_ALL}


class Suspect(Answer):
    """A change that broke a command, or may have broken it."""

    before: Annotated[TreeHash, "The snapshot before it."]
    after: Annotated[TreeHash, "The snapshot after it."]
    steps: Annotated[
        list[Step],
        "The steps that were open then and changed any of the files: of the session, or of others at the same time. "
        "Empty if somebody else changed the files.",
    ]
    prompts: Annotated[list[str], "The prompts of these steps, where there are any."]
    files: Annotated[list[FileDiff], "What differs between the two snapshots; `before` and `after` are empty."]
    others: Annotated[list[str], "Those of these files that none of the steps changed: somebody else did, meanwhile."]


class Run(Answer):
    """A run of a command on a snapshot."""

    hash: Annotated[TreeHash, "The snapshot."]
    exit_code: Annotated[int, "The exit code; for a command that a signal ended, 128 and the number of the signal."]
    verdict: Annotated[Literal["good", "bad", "skip", "abort"], "What the code says."]


class BisectResult(Answer):
    """What `bisect` found."""

    session_id: Annotated[str, "The session."]
    outcome: Annotated[
        Literal["found", "unclear", "badBefore", "goodAfter", "untested", "aborted"],
        '`"found"`, or why not. `"unclear"`: the command skipped the snapshots between several suspects. '
        '`"badBefore"`: it is bad before the first step. `"goodAfter"`: it is good after the last one. `"untested"`: '
        'it skipped one of these two. `"aborted"`: its exit code was over 127.',
    ]
    exit_code: Annotated[int, "The exit code of the command where it is first bad, or where the outcome showed."]
    suspects: Annotated[
        list[Suspect],
        "What broke it: one change if it was found, all that may have if that is unclear, the earliest first; else "
        "none.",
    ]
    trials: Annotated[list[Run], "All runs, in their order."]


def _arguments(parser: Parser) -> None:
    common(parser)
    parser.set_defaults(session=None)
    parser.flag(
        "--reuse",
        help="keep files that the command makes, such as build results, from run to run; files that a snapshot has "
        "are put right all the same",
    )
    parser.argument(
        "words",
        "[SESSION] -- COMMAND",
        "the session: its id or the beginning of it (default: the one with the latest change); the command and "
        "its arguments",
        nargs=argparse.REMAINDER,
        action=_Split,
    )


class _Split(argparse.Action):
    """Removes the session and its options from the words before `--`."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,  # noqa: ARG002 - argparse's
    ) -> None:
        words = [str(value) for value in values or ()]
        at = words.index("--") if "--" in words else len(words)
        own = words[:at]
        if own and namespace.session is not None:
            parser.error(f"{own[0]!r} is one argument too many before the --")
        if own:
            namespace.session = own[0]
        if own[1:]:
            parser.parse_args([*own[1:], *words[at:]], namespace)
        else:
            namespace.words = words[at + 1 :]


@Command(
    "bisect",
    "try and commit",
    _arguments,
    usage="snapd bisect [options] [SESSION] -- COMMAND ...",
    answer="BisectResult",
    example="bisect -- grep -q sum.=.0 src/basket.py",
)
def bisect(options: argparse.Namespace) -> int:
    """Find the step that broke a command.

    Find the step of a session that broke a command, such as a test. The command runs on snapshots before,
    between and after the steps, in a temporary folder outside of the project ($TMPDIR), which is removed
    afterwards; the project is not touched. The command's exit code says what it found, as for 'git bisect run': 0 is
    good, 125 skips the snapshot, another one up to 127 is bad, and a higher one stops the search. Ignored files
    and .git are in no snapshot: if the command needs installed packages, have it install them, and --reuse
    keeps them. It gets no input and no terminal, its output goes to standard error, and processes that it leaves
    running are ended. Steps of other sessions that ran at the same time are tried separately; steps that were undone
    are not tried.
    """
    words = _command(options)
    folder = os.path.realpath(folder_of(options))
    with open_backend(options) as backend:
        session = find_session(backend, options.session or latest_session(backend))
        steps = _steps(backend, session)
        changes = changes_of(steps, _others(backend, session, steps))
        if not changes:
            raise InvalidParams(
                f"session {session['sessionId']} has no step with changes that are not undone",
                hint="'snapd log' shows the steps; name another session",
                field="SESSION",
            )
        trials: list[Trial] = []
        result = _search(options, backend, os.fsencode(folder), words, changes, trials)
        suspects = [_suspect(backend, change) for change in result.suspects]
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
        print_result(Painter(options), answer)
    return _CODES.get(result.outcome, FAILED)


def _search(
    options: argparse.Namespace,
    backend: Backend,
    root: bytes,
    words: list[str],
    changes: list[Change],
    trials: list[Trial],
) -> TrialResult:
    """Runs the command in a temporary folder, which is removed afterwards; adds each run to `trials`."""
    above = os.fsencode(os.path.realpath(tempfile.gettempdir()))
    if above == root or above.startswith(root.rstrip(b"/") + b"/"):
        raise InvalidParams(
            f"the folder for temporary files, {printable(os.fsdecode(above))}, lies in the project",
            hint="set TMPDIR to a folder outside of it",
            field="TMPDIR",
        )
    painter = Painter(options, sys.stderr)
    with TrialCommand(words) as command:
        scratch = Scratch(above, os.path.basename(root) or b"project")
        exports = Exports(backend, root, scratch, reuse=options.reuse)

        def run(state: int, tree: str, more: int) -> Trial:
            before_run(painter, name_of(state, changes), tree, more)
            with command.interruptible():
                folder = exports.bring(tree)
            trial = Trial(tree, command.run(folder))
            trials.append(trial)
            after_run(painter, trial.verdict, trial.exit_code)
            return trial

        try:
            return find(changes, run)
        finally:
            scratch.remove()


def _command(options: argparse.Namespace) -> list[str]:
    words: list[str] = options.words
    if not words:
        raise InvalidParams("expected a command after --", hint=_FOR_EXAMPLE, field="COMMAND")
    # a relative path is looked up in each snapshot
    if (os.path.isabs(words[0]) or not os.path.dirname(words[0])) and shutil.which(words[0]) is None:
        raise InvalidParams(
            f"{printable(words[0])}: command not found",
            hint="check its name and PATH; for shell syntax, use sh -c '...'",
            field="COMMAND",
        )
    return words


def _steps(backend: Backend, session: dict[str, Any]) -> list[dict[str, Any]]:
    return list(pages(backend, "session/steps", {"sessionId": session["sessionId"], "limit": _ON_A_PAGE}, "steps"))


def _others(backend: Backend, session: dict[str, Any], steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the steps of the sessions that may have worked at the same time."""
    time = span(steps)
    if time is None:
        return []
    first, last = time
    return [
        step
        for other in all_sessions(backend)
        if other["sessionId"] != session["sessionId"]
        and other["startedAt"] <= last
        and other.get("endedAt", last) >= first
        for step in _steps(backend, other)
    ]


def _suspect(backend: Backend, change: Change) -> dict[str, Any]:
    """Returns a change for the answer: whose steps changed any of the files, and what none of these steps did."""
    params = {"from": change.before, "to": change.after, "contents": False, "renames": True}
    files = list(pages(backend, "snapshot/diffFull", params, "diffs"))
    differing = _names(files)
    steps = [step for step in change.steps if not differing.isdisjoint(_names(step.get("files", ())))]
    # what an open step changes is not known yet
    steps += [step for step in change.steps if "files" not in step]
    known = set().union(*(_names(step.get("files", ())) for step in steps))
    return {
        "before": change.before,
        "after": change.after,
        "steps": steps,
        "prompts": _prompts(backend, steps),
        "files": files,
        "others": [row["file"] for row in files if _names([row]).isdisjoint(known)],
    }


def _names(rows: Iterable[dict[str, Any]]) -> set[str]:
    """Returns the names of files in an answer, including old names of moved files."""
    return {row[key] for row in rows for key in ("file", "renamedFrom") if key in row}


def _prompts(backend: Backend, steps: list[dict[str, Any]]) -> list[str]:
    asked = {step["messageId"]: step["sessionId"] for step in steps if "messageId" in step}
    prompts: dict[str, None] = {}
    for session in dict.fromkeys(asked.values()):
        for message in pages(backend, "session/messages", {"sessionId": session, "limit": _ON_A_PAGE}, "messages"):
            if asked.get(message["messageId"]) == session and "text" in message:
                prompts[message["text"]] = None
    return list(prompts)


class Exports:
    """The exports of the workspace into `scratch`; with `reuse`, keeps what is there, except files of a snapshot."""

    def __init__(self, backend: Backend, root: bytes, scratch: Scratch, *, reuse: bool) -> None:
        self._backend = backend
        self._root = root
        self._scratch = scratch
        self._reuse = reuse
        self._tree: str | None = None

    def bring(self, tree: str) -> bytes:
        """Makes the folder match a snapshot; returns its path."""
        about: ExportParams = {"hash": tree, "directory": to_uri(self._scratch.path)}
        if self._tree is None:
            ask(self._backend, "snapshot/export", about)
            self._scratch.note(None)
        else:
            patch = ask(self._backend, "snapshot/patch", {"hash": self._tree, "to": tree})
            wrong = self._scratch.clear(map(self._relative, patch["files"]), keep=self._reuse)
            names = [absolute(self._root, path) for path in sorted(wrong)]
            ask(self._backend, "snapshot/export", {**about, "files": names})
            self._scratch.note(wrong)
        self._tree = tree
        return self._scratch.path

    def _relative(self, name: str) -> bytes:
        """Returns the path of a file in a patch, which is absolute, or a URI if it is not UTF-8."""
        path = from_uri(name, "files") if name.startswith("file:/") else os.fsencode(name)
        return path[len(self._root.rstrip(b"/")) + 1 :]


_NAMED = 5
"""How many files changed by others are listed."""
_STYLES = {"good": "green", "bad": "red", "skip": "yellow", "abort": "red"}
_NOT_STARTED = {126: "the command could not be run there", 127: "the command, or one that it runs, was not found there"}
_NEEDS = (
    "ignored files, such as installed packages, and .git are in no snapshot: have the command make what it needs, and "
    "--reuse keeps it"
)


def name_of(state: int, changes: Sequence[Change]) -> str:
    """Returns a name for a snapshot in the sequence; state 0 is before all changes."""
    if state == 0:
        return "before the first step"
    return "after the last step" if state == len(changes) else changes[state - 1].name


def before_run(painter: Painter, name: str, tree: str, more: int) -> None:
    """Shows on which snapshot the command runs next, and how many runs remain after that if none is skipped."""
    left = f", {more} more to go" if more else ""
    print(f"snapd: {painter.paint(f'{name} ({short(tree)})', 'bold')}{left}", file=sys.stderr)


def after_run(painter: Painter, verdict: Verdict, code: int) -> None:
    """Shows how a run ended."""
    words = {"good": "good", "bad": "bad", "skip": "skipped", "abort": "stopped"}
    print(f"snapd: {painter.paint(words[verdict], _STYLES[verdict])} (exit code {code})", file=sys.stderr)


def print_result(painter: Painter, answer: dict[str, Any]) -> None:
    """Prints the result, and next steps on standard error."""
    outcome, suspects = answer["outcome"], answer["suspects"]
    if outcome == "found":
        lines, hint = _format_suspect(painter, suspects[0], answer["exitCode"])
    elif outcome == "unclear":
        lines = ["one of these broke it; the command skipped the snapshots between them:"]
        lines += [f"  {_format_owner(painter, suspect)}" for suspect in suspects]
        hint = "'snapd show STEP' shows the diff of a step"
    else:
        lines, hint = _OTHERWISE[outcome](answer["exitCode"])
    print("\n".join(lines), flush=True)
    print(f"hint: {hint}", file=sys.stderr)


def _format_suspect(painter: Painter, suspect: dict[str, Any], code: int) -> tuple[list[str], str]:
    lines = [f"{_format_owner(painter, suspect)} broke it (exit code {code})"]
    lines += [f"prompt: {one_line(prompt)}" for prompt in suspect["prompts"]]
    lines.append(summary(painter, suspect["files"]))
    steps = suspect["steps"]
    if not steps:
        before, after = short(suspect["before"]), short(suspect["after"])
        return lines, f"'snapd diff {before} {after}' shows the diff, 'snapd log' what happened then"
    name = short(steps[0]["stepId"])
    return lines, f"'snapd show {name}' shows the diff, 'snapd undo {name}' undoes it"


def _format_owner(painter: Painter, suspect: dict[str, Any]) -> str:
    """Describes who may have broken it: steps, and anyone who changed something in the meantime."""
    who = [_step(painter, step) for step in suspect["steps"]]
    if not who:
        return (
            f"what somebody else changed between steps, from {short(suspect['before'])} to {short(suspect['after'])},"
        )
    if suspect["others"]:
        files = ", ".join(shell_name(name) for name in suspect["others"][:_NAMED])
        more = ", ..." if len(suspect["others"]) > _NAMED else ""
        who.append(f"what somebody else changed meanwhile ({files}{more}),")
    return " or ".join(who)


def _step(painter: Painter, step: dict[str, Any]) -> str:
    since = {"undone": " (undone since)", "partly": " (partly undone since)"}.get(step["state"], "")
    return f"{step_line(painter, step)}{since}"


def _bad_before(code: int) -> tuple[list[str], str]:
    lines = [f"the command is bad before the first step already (exit code {code}): no step broke it"]
    return lines, f"{_NOT_STARTED[code]}; {_NEEDS}" if code in _NOT_STARTED else _NEEDS


def _good_after(_: int) -> tuple[list[str], str]:
    return (
        ["the command is good after the last step: no step broke it"],
        "what breaks it is no part of the session's snapshots: look at ignored files, and at what changed since",
    )


def _untested(code: int) -> tuple[list[str], str]:
    lines = [f"the command skipped a snapshot that is needed, the first or the last (exit code {code})"]
    return lines, "it must tell good from bad before the first step and after the last"


def _aborted(code: int) -> tuple[list[str], str]:
    by = f", by signal {code - 128}" if 128 < code < 193 else ""
    return [f"the command stopped the search (exit code {code}{by})"], "codes over 127 stop it; 125 skips a snapshot"


_OTHERWISE = {"badBefore": _bad_before, "goodAfter": _good_after, "untested": _untested, "aborted": _aborted}
