"""Compares the work that snapd does with what is committed: `python -m benchmarks.guard`, or `make bench-guard`."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from typing import TYPE_CHECKING

from .counting import install

# the functions that are counted are wrapped before anything of snapd finds them
install()

from .committed import COMMITTED, BadCounts, differences, dump, load  # noqa: E402
from .measured import Failed, counts_of, measure  # noqa: E402
from .place import make_exact  # noqa: E402
from .programs import programs  # noqa: E402
from .rows import SCENARIOS  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence

_UMASK = 0o022


def main(arguments: Sequence[str]) -> int:
    """Counts, then compares or accepts.

    Returns:
        0; 1 where a count is not the committed one, or nothing could be counted.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.guard", description="counts what each row takes")
    parser.add_argument("--accept", action="store_true", help="write down what is found instead of comparing with it")
    parser.add_argument("--counts", default=COMMITTED, help="the file of counts (benchmarks/guard/counts.json)")
    options = parser.parse_args(arguments)
    os.umask(_UMASK)
    make_exact()
    # short: a socket is to lie below it
    work = os.path.realpath(tempfile.mkdtemp(prefix="snapd-guard-"))
    try:
        result = measure((*map(counts_of, SCENARIOS), programs), work)
        if options.accept:
            with open(options.counts, "w", encoding="ascii") as file:
                file.write(dump(result))
            print(f"written: {os.path.relpath(options.counts)}")
            return 0
        lines = differences(load(options.counts), result)
    except (Failed, BadCounts, FileNotFoundError) as error:
        print(f"bench-guard: {error}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(work)
    if not lines:
        return 0
    print(*lines, sep="\n", file=sys.stderr)
    print(
        f"bench-guard: {len(lines)} counts are not what is committed. If the change means to cost this, accept it: "
        "make bench-guard ACCEPT=1",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
