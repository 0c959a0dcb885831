"""`snapd keep`, `snapd revert` and `snapd restore`."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

from snapd.cli.exit_codes import DONE
from snapd.cli.parsing.command import SNAPSHOT, Command, changing, common
from snapd.cli.requests.connection import ask, folder_of, in_folder, open_backend
from snapd.cli.requests.names import file_of, find_session, find_step
from snapd.cli.requests.operation import operate
from snapd.cli.requests.pending import choose_hunks, named, pending
from snapd.cli.requests.snapshots import file_hint, find_snapshot
from snapd.cli.terminal.asking import declined
from snapd.cli.terminal.layout import shell_name
from snapd.cli.terminal.output import print_json
from snapd.model.errors import InvalidParams

if TYPE_CHECKING:
    import argparse

    from snapd.backend import Backend
    from snapd.cli.parsing.usage import Parser


def _keep_arguments(parser: Parser) -> None:
    common(parser)
    parser.argument("what", "FILE | STEP", "files or directories; or a step: the beginning of its id", nargs="*")
    parser.flag("--all", help="accept all pending changes")
    parser.argument("--session", "S", "accept the changes of this session: its id or the beginning of its id")
    parser.flag("-p", "--patch", help="ask about each hunk")
    parser.flag("-y", "--yes", help="with -p, accept all hunks")


@Command("keep", "choose what stays", _keep_arguments, answer="ReviewListResult", example="keep src/discount.py")
def keep(options: argparse.Namespace) -> int:
    """Accept what agents changed."""
    with open_backend(options) as backend:
        before = pending(backend)
        if options.patch:
            rows = named(options, before, options.what)
            choose_hunks(options, backend, rows, "keep", partial(ask, backend, "review/keep"))
        else:
            ask(backend, "review/keep", _meant(options, backend, before))
        left = ask(backend, "review/list", {})
    if options.json:
        print_json(left)
        return DONE
    ids = {row["file"]: row["id"] for row in left["files"]}
    kept = [row for row in before if ids.get(row["file"]) != row["id"]]
    files = "nothing was kept" if not kept else f"kept the changes of {len(kept)} file{'' if len(kept) == 1 else 's'}"
    print(f"{files}; {left['pendingFiles'] or 'no'} file{'' if left['pendingFiles'] == 1 else 's'} left to review")
    return DONE


def revert_pending(options: argparse.Namespace) -> int:
    """Reverts the pending hunks that a person chooses."""
    if options.expect is not None:
        raise InvalidParams("--expect: cannot be used with -p", hint="leave out one of them", field="--expect")
    words = [*filter(None, [options.hash]), *options.files]
    codes: list[int] = []
    with open_backend(options) as backend:

        def revert(params: dict[str, Any]) -> None:
            codes.append(operate(options, backend, "review/revert", params, sure=True))

        choose_hunks(options, backend, named(options, pending(backend), words), "revert", revert)
    return max(codes) if codes else declined(options)


def _meant(options: argparse.Namespace, backend: Backend, files: list[dict[str, Any]]) -> Any:
    given = [bool(options.what), options.session is not None, options.all]
    if sum(given) != 1:
        raise InvalidParams(
            "expected files, a step, --session or --all" if not any(given) else "expected only one of them: files or a "
            "step, --session, or --all",
            hint="'snapd review' lists what is pending; 'snapd keep --all' accepts all of it",
            field="FILE",
        )  # fmt: skip
    if options.all:
        return {"all": True}
    if options.session is not None:
        return {"sessionId": find_session(backend, options.session)["sessionId"]}
    try:
        rows = named(options, files, options.what)
    except InvalidParams:
        if len(options.what) > 1 or os.path.lexists(os.path.join(options.directory, options.what[0])):
            raise
        return {"stepId": find_step(backend, options.what[0])["stepId"]}
    return {"files": [file_of(row) for row in rows]}


_CONFLICTS = "what to do with files that changed since the last snapshot (default: overwrite; a snapshot keeps them)"


def _revert_arguments(parser: Parser) -> None:
    changing(parser, _CONFLICTS)
    parser.argument("hash", "SNAPSHOT", f"{SNAPSHOT}; not with -p", nargs="?")
    parser.argument("files", "FILE", "files or directories", nargs="*")
    parser.flag("-p", "--patch", help="ask about each hunk that agents left pending in these files")


@Command("revert", "choose what stays", _revert_arguments, answer="Outcome", example="revert {first} notes.txt --yes")
def revert(options: argparse.Namespace) -> int:
    """Bring files back from a snapshot, or with -p choose what agents changed."""
    if options.patch:
        return revert_pending(options)
    if not options.files:
        raise InvalidParams(
            "expected a snapshot and the files to bring back from it",
            hint="'snapd snapshots' lists the snapshots; 'snapd revert -p' asks about what agents changed",
            field="FILE",
        )
    with open_backend(options) as backend:
        tree = find_snapshot(backend, options.hash, or_oldest=False)
        for path in options.files:
            _check_known(options, backend, tree, path)
        params = {"patches": [{"hash": tree, "files": [in_folder(options, path) for path in options.files]}]}
        return operate(options, backend, "snapshot/revert", params, sure=options.yes)


def _restore_arguments(parser: Parser) -> None:
    changing(parser, _CONFLICTS)
    parser.argument("hash", "SNAPSHOT", SNAPSHOT)


@Command("restore", "choose what stays", _restore_arguments, answer="Outcome", example="restore {first} --dry-run")
def restore(options: argparse.Namespace) -> int:
    """Make the folder match a snapshot."""
    with open_backend(options) as backend:
        params = {"hash": find_snapshot(backend, options.hash, or_oldest=False)}
        return operate(options, backend, "snapshot/restore", params, sure=options.yes)


def _check_known(options: argparse.Namespace, backend: Backend, tree: str, path: str) -> None:
    """Ensures that a path exists somewhere: a mistyped name would be reported as unchanged."""
    file = in_folder(options, path)
    # a name that is not UTF-8 is not mistyped
    if file.startswith("file:") or os.path.lexists(file):
        return
    if ask(backend, "snapshot/fileExists", {"hash": tree, "file": file})["exists"]:
        return
    name = os.path.relpath(file, folder_of(options))
    if not ask(backend, "snapshot/listFiles", {"hash": tree, "prefix": f"{name}/", "limit": 1})["files"]:
        raise InvalidParams(
            f"{shell_name(path)}: neither the snapshot nor the folder has it",
            hint=f"{file_hint(backend, tree, name)}check the name; 'snapd files {tree}' lists what the snapshot has",
            field="FILE",
        )
