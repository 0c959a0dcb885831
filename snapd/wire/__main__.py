"""Generates files from the table of methods, or with `--check` names those that are stale."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .generate import outputs

ROOT = Path(__file__).parents[2]


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Runs the command.

    Args:
        arguments: the arguments after `python -m snapd.wire`.
        root: the checkout to write to.

    Returns:
        The exit code: 1 if `--check` found a stale file.
    """
    parser = argparse.ArgumentParser(prog="python -m snapd.wire", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; name stale files and exit with 1")
    check = parser.parse_args(arguments).check
    stale = False
    for name, text in outputs().items():
        path = root / name
        if path.is_file() and path.read_bytes() == text.encode():
            continue
        stale = True
        if check:
            print(f"stale: {name}; run python -m snapd.wire", file=sys.stderr)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
            print(f"written: {name}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
