"""Runs snapd, and writes down which modules it loads: `python loading.py REPORT WORD...`.

Its own modules count, and the packages and parts of Python's library that they ask for by name. What these load in turn
differs from one version to the next.
"""

from __future__ import annotations

import builtins
import json
import os
import sys
from typing import Any

_OURS = ("snapd", "snapd_client")


def main(report: str, words: list[str]) -> int:
    """Runs snapd with these words; returns its exit code.

    Args:
        report: the file to write to.
        words: of the command line.
    """
    asked: set[str] = set()
    real = builtins.__import__

    def asking(name: str, *args: Any, **options: Any) -> Any:
        # the others are variables, what is wanted of it, and how many packages above the asking module it lies
        of = args[0] if args else options.get("globals")
        level = args[3] if len(args) > 3 else options.get("level", 0)
        if level == 0 and of is not None and _top(str(of.get("__name__"))) in _OURS:
            asked.add(_top(name))
        return real(name, *args, **options)

    import_system: Any = builtins
    import_system.__import__ = asking
    # a hook ends its process at once; the report is still to be written
    system: Any = os
    system._exit = sys.exit
    from snapd.__main__ import main as snapd

    sys.argv = ["snapd", *words]
    try:
        return snapd()
    finally:
        import_system.__import__ = real
        own = [name for name in sys.modules if _top(name) in _OURS]
        asked -= {"__future__", *_OURS}
        counts = {"modules of snapd": len(own), **{f"asks for {name}": 1 for name in asked}}
        with open(report, "w", encoding="ascii") as file:
            json.dump(counts, file)


def _top(module: str) -> str:
    return module.partition(".")[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
