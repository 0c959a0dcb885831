"""`snapd revert` and `snapd restore`: the plan is shown and asked about before anything is done."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from snapd.core.errors import InvalidParams

from .asking import ask, backend, in_folder, resolve
from .exit_codes import DONE, NOT_ALL
from .output import Painter, outcomes, print_json

if TYPE_CHECKING:
    import argparse

    from snapd.backend import Backend

_AS_ASKED = frozenset({"restored", "deleted", "merged", "unchanged"})


def revert(options: argparse.Namespace) -> int:
    """Brings some files back."""
    with backend(options) as found:
        files = [in_folder(options, path) for path in options.files]
        params = {"patches": [{"hash": resolve(found, options.hash), "files": files}]}
        return _operate(options, found, "snapshot/revert", params)


def restore(options: argparse.Namespace) -> int:
    """Makes the folder what a snapshot was."""
    with backend(options) as found:
        return _operate(options, found, "snapshot/restore", {"hash": resolve(found, options.hash)})


def _operate(options: argparse.Namespace, found: Backend, method: str, params: dict[str, Any]) -> int:
    params["onConflict"] = options.on_conflict
    painter = Painter(options)
    if options.dry_run:
        return _show(options, painter, ask(found, method, {**params, "dryRun": True}))
    if not options.yes:
        plan = ask(found, method, {**params, "dryRun": True})
        if not _confirmed(painter, plan):
            print("snapd: nothing was changed", file=sys.stderr)
            return NOT_ALL
    return _show(options, painter, ask(found, method, params))


def _confirmed(painter: Painter, plan: dict[str, Any]) -> bool:
    touched = [row for row in plan["files"] if row["outcome"] != "unchanged"]
    if not touched:
        return True
    if not sys.stdin.isatty():
        raise InvalidParams(
            f"this would change {len(touched)} files: say --yes, or --dry-run to see them", field="--yes"
        )
    # standard output is for what was done
    print(outcomes(painter, touched), file=sys.stderr)
    print("go on? What is there now is kept in a snapshot. [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _show(options: argparse.Namespace, painter: Painter, result: dict[str, Any]) -> int:
    if options.json:
        print_json(result)
    else:
        if result["files"]:
            print(outcomes(painter, result["files"]))
        if result["applied"]:
            print(painter.paint(f"before: {result['before']}", "dim"))
        elif not options.dry_run:
            print("snapd: nothing was changed: files were changed since the last snapshot", file=sys.stderr)
    if not options.dry_run and not result["applied"]:
        return NOT_ALL
    return DONE if all(row["outcome"] in _AS_ASKED for row in result["files"]) else NOT_ALL
