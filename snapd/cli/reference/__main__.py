"""Writes what is generated about the command line, or with `--check` names what is out of date."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import answers, markdown

ROOT = Path(__file__).parents[3]


def outputs() -> dict[str, str]:
    """The text of each generated file, by its path in the repository."""
    return {"docs/cli.md": markdown.text(), "docs/cli.schema.json": answers.text()}


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Runs the command.

    Args:
        arguments: what follows `python -m snapd.cli.reference`.
        root: the checkout to write to.

    Returns:
        The exit code: 1 if `--check` found a stale file, or a command has no example.
    """
    parser = argparse.ArgumentParser(prog="python -m snapd.cli.reference", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; name stale files and exit with 1")
    check = parser.parse_args(arguments).check
    try:
        stale = {name: text for name, text in outputs().items() if _read(root / name) != text}
    except LookupError as error:
        print(error.args[0], file=sys.stderr)
        return 1
    for name, text in stale.items():
        if check:
            print(f"stale: {name}; run python -m snapd.cli.reference", file=sys.stderr)
        else:
            (root / name).write_text(text, "utf-8")
            print(f"written: {name}")
    return 1 if check and stale else 0


def _read(path: Path) -> str | None:
    return path.read_text("utf-8") if path.exists() else None


if __name__ == "__main__":
    sys.exit(main())
