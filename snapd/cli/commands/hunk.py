"""`snapd revert-hunk`: reverts some of the hunks that a step changed in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snapd.cli.requests.connection import ask, backend, in_folder
from snapd.cli.requests.names import step_id
from snapd.cli.requests.operation import operate
from snapd.cli.terminal.choosing import choose
from snapd.cli.terminal.confirming import declined
from snapd.cli.terminal.filenames import printable
from snapd.core.errors import InvalidParams

if TYPE_CHECKING:
    import argparse

    from snapd.backend import Backend


def revert_hunk(options: argparse.Namespace) -> int:
    """Reverts the hunks that the command names, or that the user chooses one by one."""
    with backend(options) as found:
        about = {"stepId": step_id(found, options.step), "file": in_folder(options, options.file)}
        answer = ask(found, "step/hunks", about)
        hunks = answer["hunks"]
        if not hunks:
            why = "others changed the same lines while it was at work" if "mixed" in answer else "it changed as a whole"
            raise InvalidParams(
                f"{options.file} has no hunks in this step: {why}",
                hint=f"'snapd undo {options.step} FILE' undoes what the step changed in it",
                field="FILE",
            )
        agreed = None
        if options.hunks:
            chosen = _named(options.hunks, len(hunks))
        else:
            every = {**about, "hunks": [hunk["index"] for hunk in hunks], "onConflict": options.on_conflict}
            shown = _plan(found, every)
            hint = f"name the hunks, from 1 to {len(hunks)}, or take all of them back with --yes"
            chosen = choose(options, printable(options.file), hunks, "revert", hint).hunks
            if chosen and not options.yes:
                agreed = _plan(found, {**every, "hunks": chosen})
                # what is chosen can be as it was shown only if the whole still is
                agreed = agreed if _plan(found, every) == shown else shown
        if not chosen:
            return declined(options)
        return operate(
            options, found, "step/revertHunks", {**about, "hunks": chosen}, sure=agreed is None, agreed=agreed
        )


def _plan(found: Backend, params: dict[str, Any]) -> str:
    plan: str = ask(found, "step/revertHunks", {**params, "dryRun": True})["plan"]
    return plan


def _named(numbers: list[int], count: int) -> list[int]:
    for number in numbers:
        if not 1 <= number <= count:
            raise InvalidParams(
                f"there is no hunk {number}, only 1 to {count}",
                hint="'snapd show STEP' shows the hunks in order",
                field="HUNK",
            )
    return [number - 1 for number in dict.fromkeys(numbers)]
