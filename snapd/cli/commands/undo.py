"""`snapd undo`, `redo` and `revert-hunk`: undo steps, or some of the hunks that a step changed."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from snapd.backend import ChatRewind
from snapd.cli.parsing.command import SESSION, STEP, Command, changing, positive
from snapd.cli.requests.connection import ask, in_folder, open_backend
from snapd.cli.requests.names import find_message, find_session, find_step, latest_session, step_id
from snapd.cli.requests.operation import operate
from snapd.cli.terminal.asking import choose, declined
from snapd.cli.terminal.layout import printable, shell_name
from snapd.model.errors import InvalidParams

if TYPE_CHECKING:
    import argparse

    from snapd_client.protocol import StepRevertHunksParams

    from snapd.backend import Backend
    from snapd.cli.parsing.usage import Parser


_CONFLICTS = "what to do with files that changed after the step (default: merge)"


_ARGUMENTS = {"step": "a step", "files": "files"}


def _undo_arguments(parser: Parser) -> None:
    changing(parser, _CONFLICTS)
    parser.argument("step", "STEP", f"{STEP} (default: whatever was done last)", nargs="?")
    parser.argument("files", "FILE", "undo only what the step changed in these files", nargs="*")
    parser.argument("--message", "ID", "undo all steps of a turn: the beginning of its message's id, or 'last'")
    parser.flag("--chat", help="do as 'snapd rewind', with the conversation; needs --message, the last of its session")
    parser.argument("--to", "STEP", "go back to right after this step of its session")
    _which(parser, "1")


def _which(parser: Parser, default: str) -> None:
    parser.flag("--git", help="also take back what the steps did to git: branches, HEAD, the stash, what is staged")
    parser.argument("--session", "S", f"only steps of {SESSION}")
    parser.argument("--count", "N", f"how many, one after the other (default: {default})", type=positive)
    parser.flag("--all", help="all steps of the session (default: of the one with the latest change)")


@Command(
    "undo", "every day", _undo_arguments, answer="StepsOutcome | Outcome | RewindOutcome", example="undo {step} --yes"
)
def undo(options: argparse.Namespace) -> int:
    """Undo what was done last, or a step, wherever it is."""
    _check_one(options, "step", "count", "message", "to", "all")
    if options.chat and options.message is None:
        raise InvalidParams("--chat: needs --message", hint="'snapd rewind MESSAGE' does it", field="--chat")
    with open_backend(options) as backend:
        if options.step is not None and options.files:
            _check_one(options, "files", "git")
            step = find_step(backend, options.step, _session(options, backend))
            files = [in_folder(options, path) for path in options.files]
            params: dict[str, Any] = {"stepId": step["stepId"], "files": files}
            return operate(options, backend, "step/revertFiles", params, sure=options.yes)
        wanted = {**_wanted(options, backend), **_with_git(options)}
        chat = _chat(backend, wanted) if options.chat else None
        method = "session/undo" if chat is None else "session/revert"
        code = operate(options, backend, method, wanted, sure=options.yes, chat=chat)
        for problem in [] if options.json else ask(backend, "snapshot/status", {}).get("settingsProblems", []):
            print(f"snapd: {printable(problem)}", file=sys.stderr)
        return code


def _chat(backend: Backend, wanted: dict[str, Any]) -> ChatRewind:
    """Returns the conversation of the session; raises `InvalidParams` unless the message is its last."""
    chat = ChatRewind(partial(ask, backend), {"sessionId": wanted["sessionId"], "messageId": wanted["messageId"]})
    last = find_message(backend, "last", wanted["sessionId"])
    if last["messageId"] != wanted["messageId"] or len(chat.look()["drops"]) > 1:
        raise InvalidParams(
            "--chat: a conversation loses all that follows a prompt, and this is not the last one of the session",
            hint=f"'snapd rewind {shell_name(wanted['messageId'])}' goes back to before it, with the files",
            field="--chat",
        )
    return chat


def _redo_arguments(parser: Parser) -> None:
    changing(parser, _CONFLICTS)
    _which(parser, "everything that the last undo took back")


@Command("redo", "every day", _redo_arguments, answer="StepsOutcome", example="redo --yes")
def redo(options: argparse.Namespace) -> int:
    """Redo what was undone last."""
    _check_one(options, "count", "all")
    with open_backend(options) as backend:
        if options.all:
            params = _whole_session(options, backend)
        else:
            which = {"whole": True} if options.count is None else {"count": options.count}
            params = {"sessionId": _session(options, backend), **which}
        return operate(options, backend, "session/redo", {**params, **_with_git(options)}, sure=options.yes)


def _with_git(options: argparse.Namespace) -> dict[str, Any]:
    return {"git": True} if options.git else {}


def _wanted(options: argparse.Namespace, backend: Backend) -> dict[str, Any]:
    """Returns the params that select what to undo."""
    if options.all:
        return _whole_session(options, backend)
    session_id = _session(options, backend)
    if options.step is not None or options.to is not None:
        step = find_step(backend, options.to or options.step, session_id)
        name = "stepId" if options.to is None else "afterStepId"
        return {"sessionId": step["sessionId"], name: step["stepId"]}
    if options.message is not None:
        message = find_message(backend, options.message, session_id)
        return {"sessionId": message["sessionId"], "messageId": message["messageId"]}
    return {"sessionId": session_id, "count": options.count}


def _whole_session(options: argparse.Namespace, backend: Backend) -> dict[str, Any]:
    """Returns the params for all steps of a session; without a name, of the one with the latest change."""
    session = find_session(backend, options.session or latest_session(backend))
    return {"sessionId": session["sessionId"], "count": max(1, session["stepCount"])}


def _session(options: argparse.Namespace, backend: Backend) -> str | None:
    return None if options.session is None else str(find_session(backend, options.session)["sessionId"])


def _check_one(options: argparse.Namespace, *names: str) -> None:
    """Raises `InvalidParams` if more than one of these options is given."""
    given = [name for name in names if getattr(options, name) not in (None, False)]
    if len(given) > 1:
        fields = {name: _ARGUMENTS.get(name, f"--{name}") for name in given}
        raise InvalidParams(
            f"--{given[1]}: cannot be used with {fields[given[0]]}", hint="give one of them", field=f"--{given[1]}"
        )


def _hunk_arguments(parser: Parser) -> None:
    changing(parser, _CONFLICTS)
    parser.argument("step", "STEP", STEP)
    parser.argument("file", "FILE", "a file that the step changed")
    parser.argument(
        "hunks", "HUNK", "the numbers of the hunks, from 1 (default: ask about each)", type=positive, nargs="*"
    )


@Command(
    "revert-hunk", "choose what stays", _hunk_arguments, answer="Outcome", example="revert-hunk {step} src/basket.py 1"
)
def revert_hunk(options: argparse.Namespace) -> int:
    """Revert some of the hunks that a step changed in a file."""
    with open_backend(options) as backend:
        about: Any = {"stepId": step_id(backend, options.step), "file": in_folder(options, options.file)}
        answer = ask(backend, "step/hunks", about)
        hunks = answer["hunks"]
        if not hunks:
            why = "others changed the same lines while it was running" if "mixed" in answer else "it changed as a whole"
            raise InvalidParams(
                f"{options.file} has no hunks in this step: {why}",
                hint=f"'snapd undo {options.step} FILE' undoes what the step changed in it",
                field="FILE",
            )
        agreed = None
        if options.hunks:
            chosen = _indexes(options.hunks, len(hunks))
        else:
            every: StepRevertHunksParams = {
                "stepId": about["stepId"],
                "file": about["file"],
                "hunks": [hunk["index"] for hunk in hunks],
                "onConflict": options.on_conflict,
            }
            shown = _plan(backend, every)
            hint = f"name the hunks, from 1 to {len(hunks)}, or undo all of them with --yes"
            chosen = choose(options, printable(options.file), hunks, "revert", hint).hunks
            if chosen and not options.yes:
                agreed = _plan(backend, {**every, "hunks": chosen})
                # the chosen hunks are as shown only if the whole plan still is
                agreed = agreed if _plan(backend, every) == shown else shown
        if not chosen:
            return declined(options)
        return operate(
            options, backend, "step/revertHunks", {**about, "hunks": chosen}, sure=agreed is None, agreed=agreed
        )


def _plan(backend: Backend, params: StepRevertHunksParams) -> str:
    return ask(backend, "step/revertHunks", {**params, "dryRun": True})["plan"]


def _indexes(numbers: list[int], count: int) -> list[int]:
    for number in numbers:
        if not 1 <= number <= count:
            raise InvalidParams(
                f"there is no hunk {number}, only 1 to {count}",
                hint="'snapd show STEP' shows the hunks in order",
                field="HUNK",
            )
    return [number - 1 for number in dict.fromkeys(numbers)]
