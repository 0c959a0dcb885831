"""How much the random tests try: `make test` has time for some of it, `make test-long` for more."""

from __future__ import annotations

import os


def amount(short: int, long: int, variable: str | None = None) -> int:
    """How many examples a test goes through, or whatever else says how much it tries.

    Args:
        variable: of the environment, which says another number.
    """
    chosen = long if "TESTS_LONG" in os.environ else short
    return int(os.environ.get(variable, chosen)) if variable is not None else chosen
