"""A gate at which the worker process of a job waits, once it is at work, until the test lets it go on."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from snapd.workers.processes import Report


class Gate:
    """A pipe that the process reads before it does its job.

    Args:
        path: where to make the pipe.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        os.mkfifo(path, 0o600)

    def wait(self) -> int:
        """Returns when the process waits here, with a descriptor; closing that lets the process go on."""
        return os.open(self.path, os.O_WRONLY)

    def argument(self, module: str) -> str:
        """The argument with which this module, in another process, does the job of another module behind the gate."""
        return f"{module}\n{self.path}"


def main(argument: str) -> None:
    """Runs in the other process."""
    name, path = argument.split("\n")
    module = import_module(name)
    serve = module.serve

    def gated(work: Any) -> None:
        def job(question: dict[str, Any], report: Report) -> Any:
            Path(path).read_bytes()
            return work(question, report)

        serve(job)

    module.serve = gated  # type: ignore[attr-defined]
    module.main("")
