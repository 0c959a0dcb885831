"""The oracle of `histories.py`: files as lines, each of which occurs once and is known by its author.

A line is written once and never again, so two versions of a file align by their common lines without any doubt. That
makes a three-way merge a dozen lines of code, and says of each line in the folder who wrote it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import attrs

Text = tuple[bytes, ...]
Folder = dict[str, Text]
"""The lines of each file, by its name."""
Change = tuple[Text | None, Text | None]
"""A file before and after; None where there was none."""


class Overlap(Exception):
    """Both sides changed the lines between two that neither changed."""


def read(root: Path) -> Folder:
    """The files of a folder; whatever snapd lays aside while it works would be among them."""
    return {
        str(path.relative_to(root)): tuple(path.read_bytes().splitlines(keepends=True))
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def differences(before: Folder, after: Folder) -> dict[str, Change]:
    """What changed, by file."""
    names = sorted({*before, *after})
    return {name: (before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)}


def merge(base: Text | None, ours: Text | None, theirs: Text | None) -> Text | None:
    """The three-way merge of a file.

    Raises:
        Overlap: the changes touch.
    """
    if ours in (base, theirs):
        return theirs
    if theirs == base:
        return ours
    if base is None or ours is None or theirs is None:
        raise Overlap
    stable = {*base} & {*ours} & {*theirs}
    merged: list[bytes] = []
    for one, our, their in zip(_gaps(base, stable), _gaps(ours, stable), _gaps(theirs, stable), strict=True):
        if our not in (one, their) and their != one:
            raise Overlap
        merged += their if our == one else our
    return tuple(merged)


def _gaps(text: Text, stable: set[bytes]) -> list[Text]:
    """The lines between the stable ones, each gap with the stable line that ends it."""
    gaps: list[list[bytes]] = [[]]
    for line in text:
        gaps[-1].append(line)
        if line in stable:
            gaps.append([])
    return [tuple(gap) for gap in gaps]


def resembles(one: Text, other: Text) -> bool:
    """Whether one may be taken for the other under a new name."""
    return 2 * len({*one} & {*other}) >= max(len(one), len(other))


@attrs.define(eq=False)
class Work:
    """What somebody changed: a step, or what an operation did for a step.

    Attributes:
        chains: of each file, what was made of it, in the order of time; two changes that touch are one.
        left: the folder as it was when the work was done.
    """

    chains: dict[str, list[Change]] = attrs.field(factory=dict)
    left: Folder = attrs.field(factory=dict)

    def see(self, before: Folder, after: Folder) -> None:
        """Takes what changed between two looks for its own."""
        for name, (old, new) in differences(before, after).items():
            chain = self.chains.setdefault(name, [])
            first = chain.pop()[0] if chain and chain[-1][1] == old else old
            if first != new:
                chain.append((first, new))
            if not chain:
                del self.chains[name]
        self.left = dict(after)

    @property
    def changed(self) -> set[str]:
        """The files that it left as others than they were before its first change."""
        return {name for name, chain in self.chains.items() if chain[0][0] != chain[-1][1]}

    def copy(self) -> Work:
        return Work({name: list(chain) for name, chain in self.chains.items()}, dict(self.left))

    def inverse(self) -> Work:
        """What takes it back, had nobody else written since."""
        return Work({name: [(new, old) for old, new in chain[::-1]] for name, chain in self.chains.items()}, self.left)

    def lines(self) -> tuple[set[bytes], set[bytes]]:
        """The lines that came by it, and those that went, whoever wrote them."""
        came: set[bytes] = set()
        went: set[bytes] = set()
        for chain in self.chains.values():
            for old, new in chain:
                came |= {*(new or ())} - {*(old or ())}
                went |= {*(old or ())} - {*(new or ())}
        return came, went


@attrs.define
class Foretold:
    """What taking some work back comes to.

    Attributes:
        files: what each file becomes for certain; None where it goes.
        overlapping: files of which both sides cannot be had.
        open: files of which no more can be foretold than that nobody else's lines go: they moved, or have copies.
    """

    files: dict[str, Text | None] = attrs.field(factory=dict)
    overlapping: set[str] = attrs.field(factory=set)
    open: set[str] = attrs.field(factory=set)


def taken_back(work: Work, now: Folder) -> Foretold:
    """What it comes to when some work is taken back on the files as they are."""
    expected_outcomes = Foretold()
    for name, chain in work.chains.items():
        if _is_moved(name, chain, work, now):
            expected_outcomes.open.add(name)
            continue
        text = now.get(name)
        try:
            for old, new in reversed(chain):
                text = merge(new, text, old)
        except Overlap:
            expected_outcomes.overlapping.add(name)
        else:
            expected_outcomes.files[name] = text
    return expected_outcomes


def _is_moved(name: str, chain: list[Change], work: Work, now: Folder) -> bool:
    """Whether the work, or somebody since, moved or copied a file, or may seem to have done so."""
    versions = [text for change in chain for text in change if text is not None]
    others = {other: text for other, text in {**work.left, **now}.items() if other != name}
    elsewhere = [
        text for other, parts in work.chains.items() if other != name for part in parts for text in part if text
    ]
    return any(resembles(one, other) for one in versions for other in [*others.values(), *elsewhere])


def gone(before: Folder, after: Folder) -> set[bytes]:
    """The lines that are nowhere any more."""
    return _all(before.values()) - _all(after.values())


def come(before: Folder, after: Folder) -> set[bytes]:
    """The lines that were nowhere before."""
    return gone(after, before)


def _all(texts: Iterable[Text]) -> set[bytes]:
    return {line for text in texts for line in text}


def shown(folder: Mapping[str, Text | None], names: Iterable[str]) -> str:
    """Some files, for whoever looks for what went wrong."""
    rows = []
    for name in sorted(names):
        text = folder.get(name)
        rows.append(f"--- {name}" + (" (none)" if text is None else ""))
        rows += [line.decode().rstrip("\n") for line in text or ()]
    return "\n".join(rows)
