"""`snapd step begin` and `end`, and `snapd session end`: for agents whose hooks can only run a shell command."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from snapd.cli.exit_codes import DONE
from snapd.cli.parsing.command import SESSION, STEP, Answer, Command, common, family
from snapd.cli.requests.connection import ask, in_folder, open_backend
from snapd.cli.requests.names import all_sessions, find_session, step_id
from snapd.cli.terminal.naming import short
from snapd.cli.terminal.output import Painter, print_error, print_json, printable, summary
from snapd.model.errors import InvalidParams, SnapdError, UnknownSession

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import Annotated

    from snapd_client.protocol import StepBeginResult

    from snapd.backend import Backend
    from snapd.cli.parsing.usage import Parser
    from snapd.wire.session import StepEndResult

_SHOWN = 3
_DONE = {"begin": "begun", "end": "ended"}


class StepStart(Answer, base="StepBeginResult"):
    """A step that was begun."""

    session_id: Annotated[str, "Its session, which was started if there was none."]


class EndedSteps(Answer):
    """The steps that `step end --all` ended."""

    steps: Annotated[list[StepEndResult], "In the order in which they were ended."]


family("step", "connect agents", "begin or end a step, from the hooks of an agent")


def _shared_arguments(parser: Parser) -> None:
    common(parser)
    parser.flag("--best-effort", help="exit with 0 even after an error, and print the error")


def _begin_arguments(parser: Parser) -> None:
    _shared_arguments(parser)
    parser.argument(
        "--session", "S", "the session of the step; started if there is none with that id (default: a new one)"
    )
    parser.argument("--agent", "NAME", "the agent of a new session")
    parser.argument("--tool", "NAME", "the tool that the step uses")
    parser.argument("--description", "TEXT", "what the step does")
    parser.argument("--command", "TEXT", "the command that the step runs", dest="ran")
    parser.argument("--message", "ID", "the message that the step belongs to")
    parser.argument("--part", "ID", "the part of that message")
    parser.argument("--parent", "STEP", "the step that this one is a part of")


@Command(
    "step begin",
    "connect agents",
    _begin_arguments,
    answer="StepStart",
    example="step begin --session s1 --agent bot --tool Write",
)
def begin(options: argparse.Namespace) -> int:
    """Begin a step and print its id."""
    return _with_effort(options, _begin)


def _end_arguments(parser: Parser) -> None:
    _shared_arguments(parser)
    parser.argument("step", "STEP", STEP, nargs="?")
    parser.flag("--all", help="end all open steps, such as those of agents that crashed")
    parser.repeated("--file", "FILE", "files", "a file that the agent wrote; the step then owns no others")


@Command(
    "step end",
    "connect agents",
    _end_arguments,
    answer="StepEndResult | EndedSteps",
    example="step end {step} --file src/discount.py",
)
def end(options: argparse.Namespace) -> int:
    """End a step and show what changed."""
    return _with_effort(options, _end)


def _with_effort(options: argparse.Namespace, act: Callable[[argparse.Namespace], int]) -> int:
    """Runs `act`; with `--best-effort`, its errors do not make the command fail."""
    if not options.best_effort:
        return act(options)
    try:
        return act(options)
    except (SnapdError, OSError) as error:
        print_error(error, f"the step was not {_DONE[options.action]}: ", as_json=options.json)
        return DONE


def _begin(options: argparse.Namespace) -> int:
    """Prints only the id of the step, so that a hook can keep it."""
    with open_backend(options) as backend:
        params = {
            "parentStepId": options.parent and step_id(backend, options.parent),
            "messageId": options.message,
            "partId": options.part,
            "tool": options.tool,
            "description": options.description,
            "command": options.ran,
            # this process ends before the agent begins to work
            "detached": True,
        }
        session_id, begun = _begin_step(backend, options, params)
    if options.json:
        print_json({"sessionId": session_id, **begun})
    else:
        print(begun["stepId"])
    return DONE


def _begin_step(backend: Backend, options: argparse.Namespace, params: Any) -> tuple[str, StepBeginResult]:
    """Returns the session, which is started if none with that name is open, and the new step."""
    if options.session is not None:
        # usually the session is open already: then one request suffices
        try:
            params["sessionId"] = options.session
            return options.session, ask(backend, "step/begin", params)
        except UnknownSession:
            pass
    name = options.session and _whole(backend, options.session)
    session_id = ask(backend, "session/start", {"sessionId": name, "agent": options.agent})["sessionId"]
    params["sessionId"] = session_id
    return session_id, ask(backend, "step/begin", params)


def _whole(backend: Backend, word: str) -> str:
    """Returns the session shown as `word`, else `word`: a new session's name may be the beginning of another's."""
    names = [session["sessionId"] for session in all_sessions(backend)]
    shown = [name for name in names if short(name) == word]
    return shown[0] if len(shown) == 1 and word not in names else word


def _end(options: argparse.Namespace) -> int:
    """Ends a step, or all that are open, and shows what they changed."""
    if options.all == (options.step is not None):
        raise InvalidParams("expected either a step or --all", hint="'snapd status' lists the open steps", field="STEP")
    if options.all:
        return _end_all(options)
    with open_backend(options) as backend:
        named = None if options.files is None else {in_folder(options, path): path for path in options.files}
        result = _ended(backend, step_id(backend, options.step), named)
    for name in result.get("ignored", []):
        print(f"snapd: {printable(name)} is ignored: no snapshot has it", file=sys.stderr)
    if others := result.get("unnamed"):
        text = f"{', '.join(map(printable, others[:_SHOWN]))}{' and others' if len(others) > _SHOWN else ''}"
        print(f"snapd: no named file changed, but {text} did: the step does not own that", file=sys.stderr)
    if options.json:
        print_json(result)
    else:
        print(summary(Painter(options), result["files"]))
    return DONE


def _end_all(options: argparse.Namespace) -> int:
    if options.files is not None:
        raise InvalidParams("--file: cannot be used with --all", field="--file")
    with open_backend(options) as backend:
        # the last one first, so that a part ends before its step
        steps = ask(backend, "snapshot/status", {})["openSteps"][::-1]
        ended = [{"stepId": step["stepId"], **_ended(backend, step["stepId"])} for step in steps]
    if options.json:
        print_json({"steps": ended})
        return DONE
    painter = Painter(options)
    for step in ended:
        print(f"{painter.paint('ended', 'cyan')} {painter.paint(short(step['stepId']), 'yellow')}")
        print(summary(painter, step["files"]))
    if not ended:
        print("snapd: no step is open", file=sys.stderr)
    return DONE


def _ended(backend: Backend, step: str, named: dict[str, str] | None = None) -> Any:
    """Ends a step, and reports files not in the folder; `named` maps claimed files to the names that the user gave."""
    result = ask(backend, "step/end", {"stepId": step, "files": None if named is None else list(named)})
    for name in result.get("outside", ()):
        written = printable((named or {}).get(name, name))
        print(f"snapd: {written} is not counted: it is no file in this folder", file=sys.stderr)
    return result


family("session", "connect agents", "end a session, from the hooks of an agent")


def _session_arguments(parser: Parser) -> None:
    common(parser)
    parser.argument("session", "SESSION", SESSION)


@Command("session end", "connect agents", _session_arguments, answer="SessionEndResult", example="session end s1")
def session(options: argparse.Namespace) -> int:
    """End a session and its open steps."""
    with open_backend(options) as backend:
        result = ask(backend, "session/end", {"sessionId": find_session(backend, options.session)["sessionId"]})
    if options.json:
        print_json(result)
    return DONE
