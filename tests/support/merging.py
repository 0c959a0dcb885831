"""What must hold of a merge of two changes that git takes for a conflict because they touch."""

from __future__ import annotations

import subprocess
from collections import Counter
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

Edit = tuple[bytes, tuple[bytes, ...]]


def has_both(found: bytes, base: bytes, ours: bytes, theirs: bytes) -> bool:
    """Whether each line is there as often as both changes say; an edit that both made counts once."""
    lines = Counter(BytesIO(base))
    for _, edited in edits(base, ours) | edits(base, theirs):
        for line in edited:
            lines[line[1:]] += 1 if line.startswith(b"+") else -1
    return +lines == Counter(BytesIO(found))


def edits(old: bytes, new: bytes) -> set[Edit]:
    """The edits that `git diff` shows: where each is in the old text, and its lines with their `+` or `-`."""
    with TemporaryDirectory() as folder:
        for name, data in (("old", old), ("new", new)):
            Path(folder, name).write_bytes(data)
        command = ["git", "diff", "--no-index", "--unified=0", "--text", "old", "new"]
        patch = subprocess.run(command, cwd=folder, capture_output=True, check=False).stdout
    found: list[tuple[bytes, list[bytes]]] = []
    for line in BytesIO(patch):
        if line.startswith(b"@@"):
            found.append((line.split(b" ")[1], []))
        elif found and line.startswith(b"\\"):
            found[-1][1][-1] = found[-1][1][-1].removesuffix(b"\n")
        elif found:
            found[-1][1].append(line)
    return {(place, tuple(lines)) for place, lines in found}
