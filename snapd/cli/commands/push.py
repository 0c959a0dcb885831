"""`snapd push` and its relatives: show what would leave this machine, ask, and send it, or delete it from a remote."""

from __future__ import annotations

import math
import os
import sys
from typing import TYPE_CHECKING, Any

import attrs

from snapd.cli.exit_codes import DONE
from snapd.cli.parsing.command import REMOTE, Command, common
from snapd.cli.requests.connection import ask, in_folder, open_backend
from snapd.cli.requests.names import find_session
from snapd.cli.terminal.asking import confirmed, declined
from snapd.cli.terminal.layout import at_most, file_name, printable
from snapd.cli.terminal.naming import short
from snapd.cli.terminal.output import Painter, counted, print_json, size
from snapd.model.errors import InvalidParams
from snapd.remotes.ssh_keygen import literal_key

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from snapd_client.protocol import SessionPushParams, SessionPushResult

    from snapd.backend import Backend
    from snapd.cli.parsing.usage import Parser

_WHY = {"secret": "may hold a secret", "large": "is large"}
_LISTED = 20
"""The maximum number of sessions listed, and of files without a warning."""
_WITHOUT_USE = ("--exclude", "--redact", "--no-prompts", "--sign", "--signing-key")
"""Options that have no effect when sessions are deleted."""


@attrs.frozen
class PushTexts:
    """How a command describes what leaves the machine."""

    method: Any  # the request that sends it
    params: Any
    verb: str  # such as `push`
    done: str  # such as `pushed`
    where: Callable[[dict[str, Any]], str]  # returns where it goes, from the answer
    readers: Callable[[dict[str, Any]], str]  # describes who can read it there
    with_folder: bool = False  # whether the folder is sent with the sessions


def leaving_params(options: argparse.Namespace) -> dict[str, Any]:
    """Returns the params for exclusions and signing."""
    redact = [os.path.abspath(os.path.join(options.directory, name)) for name in options.redact or ()]
    return {
        "exclude": options.exclude,
        "redact": redact or None,
        "withoutPrompts": options.no_prompts or None,
        "sign": options.sign or options.signing_key is not None or None,
        "signingKey": _key(options),
    }


def _key(options: argparse.Namespace) -> str | None:
    """Returns the signing key; the path of a file is made absolute, for the daemon has another working directory."""
    key: str | None = options.signing_key
    if key is None or literal_key(key) is not None:
        return key
    return os.path.abspath(os.path.join(options.directory, key))


def leave(options: argparse.Namespace, backend: Backend, leaving: PushTexts) -> int:
    """Shows what would leave the machine, asks, and sends it."""
    if options.dry_run or not options.yes:
        dry_run: Any = {**leaving.params, "dryRun": True}
        plan = ask(backend, leaving.method, dry_run)
        if options.dry_run or not (plan["sessions"] or leaving.with_folder):
            return _print_result(options, leaving, plan)
        if not confirmed(
            f"{leaving.verb.capitalize()} this?",
            f"this would {leaving.verb} {counted(len(plan['sessions']), 'session')}",
            "see what would leave this machine with --dry-run, then confirm with --yes",
            _plan(Painter(options, sys.stderr), leaving, plan),
        ):
            return declined(options)
    return _print_result(options, leaving, ask(backend, leaving.method, leaving.params))


def _print_result(options: argparse.Namespace, leaving: PushTexts, result: Any) -> int:
    if options.json:
        print_json(result)
    elif not (result["sessions"] or leaving.with_folder):
        print(f"nothing to {leaving.verb}: the folder has no sessions")
    elif options.dry_run:
        for line in _plan(Painter(options), leaving, result):
            print(line)
    else:
        what, much = counted(len(result["sessions"]), "session"), size(result["bytes"])
        print(f"{leaving.done} {what} to {leaving.where(result)}: {much}")
    return DONE


def _plan(painter: Painter, leaving: PushTexts, plan: dict[str, Any]) -> Iterator[str]:
    yield f"{counted(len(plan['sessions']), 'session')} to {leaving.where(plan)}: {size(plan['bytes'])}"
    texts = " and prompts, titles, and descriptions and commands of steps"
    prompts = "" if leaving.params.get("withoutPrompts") else texts
    yield f"  their steps{prompts}, with the folder before and after each step"
    if leaving.params.get("sign"):
        yield "  signed with your ssh key"
    yield leaving.readers(plan)
    for text in plan["secretTexts"]:
        of = text.get("stepId") or text.get("messageId")
        named = f"the {text['kind']}{f' of {short(of)}' if of else ''} in session {short(text['sessionId'])}"
        yield painter.paint(f"  {printable(named)}  {_WHY['secret']}", "red")
    if plan["secretTexts"]:
        yield "--no-prompts leaves prompts, titles, descriptions and commands out."
    files = sorted(plan["newFiles"], key=lambda file: "reason" not in file)
    if not files:
        yield "All files are in commits that are there already."
        return
    yield f"{counted(len(files), 'file')} {'are' if len(files) > 1 else 'is'} in no commit that is there:"
    parts = [file for file in files if "reason" in file]
    listed = at_most(_LISTED)
    for file in [*parts, *files[len(parts) : len(parts) + listed]]:
        reason = file.get("reason")
        line = f"  {size(file['size']):>10}  {file_name(file['file'], '')}"
        yield line if reason is None else painter.paint(f"{line}  {_WHY[reason]}", "red")
    if (more := len(files) - len(parts) - listed) > 0:
        yield f"  and {more} more; --json lists all"
    if parts:
        yield "--exclude leaves files out; --redact also leaves out their contents elsewhere."


def remote_of(options: argparse.Namespace) -> str:
    """Returns the address of a remote; a folder becomes absolute, for the daemon has another working directory."""
    remote: str = options.remote
    is_path = remote in (".", "..") or remote.startswith(("./", "../"))
    return os.path.abspath(os.path.join(options.directory, remote)) if is_path else remote


def _readers(result: dict[str, Any]) -> str:
    """Describes who can read what is sent to a remote, as far as its address shows."""
    remote = printable(result["remote"])
    if remote.startswith("/"):
        where = "this folder"
    else:
        host = remote.partition("://")[2].partition("/")[0].rpartition("@")[2] if "://" in remote else ""
        host = host or (remote.partition(":")[0].rpartition("@")[2] if ":" in remote else "")
        where = f"this repository on {host}" if host else "this repository"
    return f"Anyone who can read {where} can read all of it."


def _push_arguments(parser: Parser) -> None:
    common(parser)
    parser.argument("remote", "REMOTE", REMOTE)
    parser.argument("sessions", "SESSION", "which sessions (default: all of this folder)", nargs="*")
    parser.flag("--delete", help="delete the sessions from there instead")
    parser.flag(
        "--prune",
        help="delete old sessions from there instead: those of this folder, and those that this machine added to last",
    )
    parser.argument("--older-than", "DAYS", "with --prune: sessions that nobody added to for this long", type=float)
    parser.flag("--all", help="with --prune: also the sessions of all other machines")
    _leaving_arguments(parser, "only show what would leave this machine, or be deleted")


def _leaving_arguments(parser: Parser, dry_run: str = "only show what would leave this machine") -> None:
    parser.repeated(
        "--exclude", "PATTERN", "exclude", "leave these files out of what leaves this machine, as in a .gitignore"
    )
    parser.repeated("--redact", "FILE", "redact", "leave out all contents that this file ever had, under any name")
    parser.flag("--no-prompts", help="leave out prompts, titles of sessions, and descriptions and commands of steps")
    parser.flag("--sign", help="sign it with the ssh key that user.signingKey of your git names")
    parser.argument("--signing-key", "KEY", "sign it with this ssh key: a file, or a public key that your agent has")
    parser.flag("-n", "--dry-run", help=dry_run)
    parser.flag("-y", "--yes", help="do not ask")


@Command(
    "push",
    "other machines",
    _push_arguments,
    answer="SessionPushResult",
    example="push origin --exclude '*.env'",
    plays=False,
)
def push(options: argparse.Namespace) -> int:
    """Push sessions to a git repository, for other machines.

    Push sessions of agents to a git repository, so that others can look at them, apply them or continue them.
    First it shows what would leave this machine: the sessions, how many bytes, the files that no commit
    there has, and which of them may hold secrets. It pushes only after you confirm, and never by
    itself.
    """
    if options.prune:
        return prune(options)
    for name, is_given in (("--older-than", options.older_than is not None), ("--all", options.all)):
        if is_given:
            raise InvalidParams(f"{name}: only valid with --prune", hint="add --prune, or leave it out", field=name)
    with open_backend(options) as backend:
        params = _params(options, backend)
        if options.delete:
            return _delete(options, backend, params)
        return leave(options, backend, PushTexts("session/push", params, "push", "pushed", _remote, _readers))


def _params(options: argparse.Namespace, backend: Backend) -> dict[str, Any]:
    names = [find_session(backend, word)["sessionId"] for word in options.sessions]
    which: dict[str, Any] = {"sessionIds": names} if names else {"all": True}
    return {"remote": remote_of(options), **leaving_params(options), **which}


def _delete(options: argparse.Namespace, backend: Backend, params: dict[str, Any]) -> int:
    if not options.sessions:
        raise InvalidParams(
            "expected the sessions to delete from the remote", hint="name them after REMOTE", field="SESSION"
        )
    _check_without_use(options, "--delete", {"--dry-run": options.dry_run})
    if not options.yes and not confirmed(
        f"Delete {counted(len(options.sessions), 'session')} from {printable(params['remote'])}?",
        "this would delete sessions for others",
        "confirm with --yes",
        ["Who has fetched them keeps them, and a git host may keep them for some time."],
    ):
        return declined(options)
    deleting: Any = {**params, "delete": True}
    result = ask(backend, "session/push", deleting)
    if options.json:
        print_json(result)
    else:
        print(f"deleted {counted(len(result['sessions']), 'session')} from {printable(result['remote'])}")
    return DONE


def _remote(result: dict[str, Any]) -> str:
    return printable(result["remote"])


def prune(options: argparse.Namespace) -> int:
    """Shows which sessions are old, asks, and deletes them from a remote."""
    _check_prune(options)
    params: SessionPushParams = {
        "remote": remote_of(options),
        "prune": True,
        "olderThanDays": options.older_than,
        "all": options.all or None,
    }
    with open_backend(options) as backend:
        if options.dry_run or not options.yes:
            plan = ask(backend, "session/push", {**params, "dryRun": True})
            if options.dry_run or not plan["pruned"]:
                return _print_pruned(options, plan)
            keeps = "Every machine keeps those that it made or fetched. Nobody else can fetch them."
            if not confirmed(
                f"Delete them from {printable(plan['remote'])}?",
                f"this would delete {counted(len(plan['pruned']), 'session')} for everybody",
                "see which with --dry-run, then confirm with --yes",
                [*_pruned_lines(plan), keeps],
            ):
                return declined(options)
        return _print_pruned(options, ask(backend, "session/push", params))


def _check_without_use(options: argparse.Namespace, mode: str, others: dict[str, Any]) -> None:
    """Raises `InvalidParams` for options that have no effect on this way to delete."""
    given = {**others, **{name: getattr(options, name[2:].replace("-", "_")) for name in _WITHOUT_USE}}
    for name in (name for name, value in given.items() if value):
        raise InvalidParams(f"{name}: cannot be used with {mode}", hint="leave it out", field=name)


def _check_prune(options: argparse.Namespace) -> None:
    _check_without_use(options, "--prune", {"SESSION": options.sessions, "--delete": options.delete})
    if options.older_than is None:
        raise InvalidParams(
            "--prune: expected --older-than DAYS", hint="say how old a session has to be", field="--older-than"
        )
    if not 0 <= options.older_than < math.inf:
        raise InvalidParams("--older-than: expected a number of days, at least 0", field="--older-than")


def _print_pruned(options: argparse.Namespace, result: Any) -> int:
    if options.json:
        print_json(result)
    elif options.dry_run and result["pruned"]:
        for line in _pruned_lines(result):
            print(line)
    else:
        what, remote = counted(len(result["pruned"]), "session"), printable(result["remote"])
        print(f"deleted {what} from {remote}" if result["pruned"] else f"no session at {remote} is so old")
    return DONE


def _pruned_lines(plan: SessionPushResult) -> Iterator[str]:
    sessions = plan["pruned"]
    yield f"{printable(plan['remote'])} has {counted(len(sessions), 'session')} so old, which would be deleted:"
    listed = at_most(_LISTED)
    for session in sessions[:listed]:
        # if its id is unknown here, show the end of its reference
        name = session.get("sessionId") or session["reference"].rpartition("/")[2]
        yield f"  {session['lastAt'][:10]}  {printable(short(name))}  from {printable(session['host'])}"
    if (more := len(sessions) - listed) > 0:
        yield f"  and {more} more; --json lists all"


def _bundle_arguments(parser: Parser) -> None:
    common(parser)
    parser.argument("file", "FILE", "the file to write, which must not exist")
    parser.argument("sessions", "SESSION", "which sessions", nargs="*")
    parser.flag("--all", help="all sessions of this folder")
    _leaving_arguments(parser)


@Command(
    "bundle",
    "other machines",
    _bundle_arguments,
    answer="SessionExportResult",
    example="bundle ../parser.bundle 5f1c0a22 --dry-run",
    plays=False,
)
def bundle(options: argparse.Namespace) -> int:
    """Write sessions to a file, for other machines.

    Write sessions of agents to a file, a git bundle, so that others can look at them, apply them or continue
    them. First it shows what would be in the file, as 'snapd push' does. The file leaves out what is in a
    commit of the project that others are likely to have; 'git bundle verify' names the commit.
    """
    if options.all == bool(options.sessions):
        raise InvalidParams(
            "expected sessions, or --all", hint="name the sessions after FILE, or give --all", field="SESSION"
        )
    readers = "Only you can read the file; anyone you give it to can read all of it."
    with open_backend(options) as backend:
        names = [find_session(backend, word)["sessionId"] for word in options.sessions]
        which: dict[str, Any] = {"all": True} if options.all else {"sessionIds": names}
        params = {"file": in_folder(options, options.file), **leaving_params(options), **which}
        return leave(
            options,
            backend,
            PushTexts("session/export", params, "write", "wrote", lambda _: printable(options.file), lambda _: readers),
        )


def _handover_arguments(parser: Parser) -> None:
    common(parser)
    parser.argument("remote", "REMOTE", REMOTE, nargs="?")
    parser.argument("--file", "FILE", "write it to this file instead, which must not exist")
    parser.argument("--name", "NAME", "its name there (default: of the folder and of this machine)")
    parser.repeated("--include", "FILE", "include", "also this ignored file or folder")
    _leaving_arguments(parser)


@Command(
    "handover",
    "other machines",
    _handover_arguments,
    answer="SessionHandoverResult",
    example="handover origin --dry-run",
    plays=False,
)
def handover(options: argparse.Namespace) -> int:
    """Hand this folder over to another machine, with its sessions and what is not committed.

    Hand this folder over to another machine: all files as they are, the sessions of agents with their history,
    and what is pending. There, 'snapd takeover' continues with it. Nothing changes here. First it shows what
    would leave this machine, as 'snapd push' does.
    """

    def where(result: dict[str, Any]) -> str:
        return f"{printable(result['remote'])} as {result['name']}"

    include = [os.path.abspath(os.path.join(options.directory, name)) for name in options.include or ()]
    params = {**carrier_of(options), "name": options.name, "include": include or None, **leaving_params(options)}
    with open_backend(options) as backend:
        leaving = PushTexts("session/handover", params, "hand over", "handed over", where, _readers, with_folder=True)
        return leave(options, backend, leaving)


def carrier_of(options: argparse.Namespace) -> dict[str, str]:
    """Returns the remote or the file; a file's path becomes absolute, for the daemon has another working directory."""
    if (options.remote is None) == (options.file is None):
        raise InvalidParams("expected REMOTE, or --file", hint="name a git repository, or a file", field="REMOTE")
    if options.file is not None:
        return {"file": os.path.abspath(os.path.join(options.directory, options.file))}
    return {"remote": remote_of(options)}
