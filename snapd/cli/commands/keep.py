"""`snapd keep`, and the reverting of pending changes by `snapd revert -p`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from snapd.cli.exit_codes import DONE
from snapd.cli.requests.connection import ask, backend
from snapd.cli.requests.names import file_of, find_session, find_step
from snapd.cli.requests.operation import operate
from snapd.cli.requests.pending import choose_hunks, named, pending
from snapd.cli.terminal.confirming import declined
from snapd.cli.terminal.output import print_json
from snapd.core.errors import InvalidParams

if TYPE_CHECKING:
    import argparse

    from snapd.backend import Backend


def keep(options: argparse.Namespace) -> int:
    """Accepts pending changes."""
    with backend(options) as found:
        before = pending(found)
        if options.patch:
            rows = named(options, before, options.what)
            choose_hunks(options, found, rows, "keep", lambda params: ask(found, "review/keep", params))
        else:
            ask(found, "review/keep", _meant(options, found, before))
        left = ask(found, "review/list", {})
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
        raise InvalidParams("--expect: not together with -p", hint="leave out one of them", field="--expect")
    words = [*filter(None, [options.hash]), *options.files]
    codes: list[int] = []
    with backend(options) as found:

        def revert(params: dict[str, Any]) -> None:
            codes.append(operate(options, found, "review/revert", params, sure=True))

        choose_hunks(options, found, named(options, pending(found), words), "revert", revert)
    return max(codes) if codes else declined(options)


def _meant(options: argparse.Namespace, found: Backend, files: list[dict[str, Any]]) -> dict[str, Any]:
    """The params that say what is kept."""
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
        return {"sessionId": find_session(found, options.session)["sessionId"]}
    try:
        rows = named(options, files, options.what)
    except InvalidParams:
        if len(options.what) > 1 or os.path.lexists(os.path.join(options.directory, options.what[0])):
            raise
        return {"stepId": find_step(found, options.what[0])["stepId"]}
    return {"files": [file_of(row) for row in rows]}
