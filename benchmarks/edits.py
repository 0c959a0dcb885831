"""Changes files of a tree as an agent would, the same ones in every run."""

from __future__ import annotations

import os
import random

_SNIFF_BYTES = 8000
_LARGEST_BYTES = 8 << 20
"""snapd gives no texts and no counts of files over 10 MiB, git does."""


class Editor:
    """Appends lines to text files that it chooses by chance.

    Args:
        tree: the work tree.
        files: what may be changed, relative to it; binary and very large ones, and those that steer git, are not.
        seed: of the random numbers.
    """

    def __init__(self, tree: str, files: list[str], seed: int = 0) -> None:
        self._tree = tree
        self._files = files
        self._chance = random.Random(seed)
        self._number = 0

    def choose(self, count: int) -> list[str]:
        """Picks that many different files, or all where there are fewer."""
        chosen: list[str] = []
        for file in self._chance.sample(self._files, len(self._files)) if count > 1 else self._endless():
            if self._is_editable(file):
                chosen.append(file)
            if len(chosen) == count:
                break
        return chosen

    def edit(self, count: int = 1) -> list[str]:
        """Appends a line to each of that many files.

        Returns:
            The files.
        """
        chosen = self.choose(count)
        self.append(chosen)
        return chosen

    def append(self, files: list[str]) -> None:
        """Appends a line, another one each time, to these files."""
        self._number += 1
        for file in files:
            with open(os.path.join(self._tree, file), "ab") as opened:
                opened.write(b"\n// edit %d\n" % self._number)

    def _endless(self) -> list[str]:
        # one out of many is found among a few draws, without shuffling all
        return [self._chance.choice(self._files) for _ in range(1000)]

    def _is_editable(self, file: str) -> bool:
        if os.path.basename(file).startswith(".git"):
            return False
        with open(os.path.join(self._tree, file), "rb") as opened:
            return b"\0" not in opened.read(_SNIFF_BYTES) and os.fstat(opened.fileno()).st_size <= _LARGEST_BYTES
