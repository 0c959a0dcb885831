"""The program `snapd`, also `python -m snapd`: an agent's hook at once, any other command by the command line."""

from __future__ import annotations

import sys


def main() -> int:
    """Runs the command of this process; returns its exit code."""
    words = sys.argv[1:]
    if words[:1] == ["hook"] and not {"-h", "--help"}.intersection(words):
        # an agent waits for it: nothing else is loaded
        from snapd.hook.main import main as hook

        return hook(*words[1:2])
    from snapd.cli.main import main as command

    return command()


if __name__ == "__main__":
    sys.exit(main())
