"""`snapd hook`: records an event of an agent; see `snapd.hook`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.hook.main import main

if TYPE_CHECKING:
    import argparse


def hook(options: argparse.Namespace) -> int:
    """Records the event on standard input."""
    return main(options.name)
