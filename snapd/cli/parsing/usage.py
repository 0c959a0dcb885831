"""A parser whose errors say what to do next."""

from __future__ import annotations

import argparse
import re
import sys
from typing import NoReturn

_USAGE = 2
"""As `argparse` exits."""
_CHOICE = re.compile(
    r"argument (?P<what>[^:]+): invalid choice: '(?P<given>.*)' \(choose from (?P<choices>.*)\)", re.DOTALL
)


class Parser(argparse.ArgumentParser):
    """Prints wrong usage as an error and a hint; suggests what the user may have meant."""

    def error(self, message: str) -> NoReturn:
        """Prints what is wrong, and exits."""
        self.print_usage(sys.stderr)
        hint = f"'{self.prog} --help' says more"
        wrong = _CHOICE.fullmatch(message)
        if wrong is not None:
            import difflib

            message = f"{wrong['what']}: there is no {wrong['given']!r}"
            close = difflib.get_close_matches(wrong["given"], re.findall(r"'([^']*)'", wrong["choices"]), 1)
            if close:
                hint = f"did you mean {close[0]!r}? {hint}"
        self.exit(_USAGE, f"{self.prog}: error: {message}\nhint: {hint}\n")
