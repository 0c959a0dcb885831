"""What an operation asks of the snapshot that is its goal."""

from __future__ import annotations

from pathlib import Path

import pytest

from snapd.model.ignore import IgnoreFile
from tests.support.workspace import Items, make, outcomes

_FOLDERS = 40
# the ignore files are ignored themselves, as in the source of Linux: no tree has them
_PROJECT: Items = {
    ".gitignore": b".gitignore\n",
    **{f"d{number}/.gitignore": b"*.o\n" for number in range(_FOLDERS)},
    **{f"d{number}/a": b"first\n" for number in range(_FOLDERS)},
}


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The directories whose ignore files were parsed."""
    found: list[bytes] = []
    parse = IgnoreFile.parse.__func__  # type: ignore[attr-defined]

    def noted(cls: type[IgnoreFile], text: bytes, base: bytes = b"") -> IgnoreFile:
        found.append(base)
        made: IgnoreFile = parse(cls, text, base)
        return made

    monkeypatch.setattr(IgnoreFile, "parse", classmethod(noted))
    return found


def test_to_write_a_file_back_no_ignore_file_is_parsed(tmp_path: Path, parsed: list[bytes]) -> None:
    bench = make(tmp_path, _PROJECT)
    tree = bench.track()
    bench.write({"d7/a": b"second\n"})
    bench.track()
    parsed.clear()
    assert outcomes(bench.revert((tree, ["d7/a"]))) == {"d7/a": "restored"}
    assert parsed == []
    assert bench.read() == _PROJECT


def test_to_delete_a_file_those_above_it_are(tmp_path: Path, parsed: list[bytes]) -> None:
    bench = make(tmp_path, _PROJECT)
    tree = bench.track()
    bench.write({"d7/b": b"came\n", "d7/c": b"came\n"})
    bench.track()
    parsed.clear()
    assert outcomes(bench.restore(tree)) == {"d7/b": "deleted", "d7/c": "deleted"}
    # each once for what is to be, and once for what others may have changed meanwhile
    assert set(parsed) <= {b"", b"d7"}
    assert len(parsed) <= 4
    assert bench.read() == _PROJECT
