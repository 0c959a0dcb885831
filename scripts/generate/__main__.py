"""Writes what is generated from the tables of snapd, or with `--check` names what is out of date."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from snapd.agents.table import AGENTS
from snapd.wire.generate import outputs
from snapd.wire.words import AgentWords

from . import answers, markdown

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
CONFIGURATION = "docs/configuration.md"
EVIDENCE = "docs/design/evidence.toml"
SOURCES = (CONFIGURATION, EVIDENCE)
"""The hand-written sources of the texts."""


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Runs the command; returns 1 for a stale file with `--check`, or if an example or the place of a table is gone."""
    parser = argparse.ArgumentParser(prog="python -m scripts.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; name stale files and exit with 1")
    parser.add_argument("--quick", action="store_true", help="leave out docs/cli.md, whose examples take a while")
    options = parser.parse_args(arguments)
    stale = False
    try:
        for name, text in _texts(root, quick=options.quick):
            path = root / name
            if path.is_file() and path.read_bytes() == text.encode():
                continue
            stale = True
            if options.check:
                print(f"stale: {name}; run make generate", file=sys.stderr)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(text.encode())
                print(f"written: {name}")
    except LookupError as error:
        print(error.args[0], file=sys.stderr)
        return 1
    return 1 if options.check and stale else 0


def _texts(root: Path, *, quick: bool) -> Iterator[tuple[str, str]]:
    """Yields the path in the repository and the text of each generated file."""
    yield from outputs({agent.name: AgentWords(agent.title, agent.colour) for agent in AGENTS.values()}).items()
    yield CONFIGURATION, markdown.with_settings((root / CONFIGURATION).read_text("utf-8"))
    yield "snapd/cli/parsing/index.py", answers.index()
    yield "docs/cli.schema.json", answers.text()
    yield "docs/design/evidence.md", markdown.evidence((root / EVIDENCE).read_text("utf-8"))
    if not quick:
        yield "docs/cli.md", markdown.text()


if __name__ == "__main__":
    sys.exit(main())
