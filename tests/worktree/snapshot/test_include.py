"""The setting `include`: ignored files that are captured all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.git import run_git
from tests.support.workspace import Bench, make, outcomes

IGNORES = b"*.env\n/build/\nsecrets\n"
FILES = {
    ".gitignore": IGNORES,
    ".env": b"A=1\n",
    "app.py": b"app\n",
    "app/.env": b"B=1\n",
    "app/test.env": b"C=1\n",
    "build/out.o": b"o\n",
    "build/.env": b"D=1\n",
    "secrets/one.key": b"1\n",
    "secrets/deep/two.key": b"2\n",
    "secrets/deep/note.txt": b"note\n",
}
CAPTURED = {".gitignore", "app.py"}


def held(bench: Bench) -> set[str]:
    return set(bench.names(bench.track()))


@pytest.mark.parametrize(
    ("patterns", "more"),
    [
        ((), ()),
        ((".env",), (".env", "app/.env")),
        (("/.env",), (".env",)),
        (("*.env",), (".env", "app/.env", "app/test.env")),
        (("build/.env",), ("build/.env",)),
        (("/build/",), ("build/out.o",)),
        (("secrets/*.key",), ("secrets/one.key",)),
        (("secrets/*/*.key", "absent/x"), ("secrets/deep/two.key",)),
        (("secrets/deep/",), ("secrets/deep/two.key", "secrets/deep/note.txt")),
        (("secrets/**/two.key",), ("secrets/deep/two.key",)),
    ],
)
def test_what_is_captured(tmp_path: Path, patterns: tuple[str, ...], more: tuple[str, ...]) -> None:
    bench = make(tmp_path, FILES)
    bench.configure(include=patterns)
    assert held(bench) == CAPTURED | set(more)
    bench.configure()
    assert held(bench) == CAPTURED


def test_exclude_is_stronger(tmp_path: Path) -> None:
    bench = make(tmp_path, FILES)
    bench.configure("app/", "/secrets/deep/", include=[".env", "secrets/*/*.key", "secrets/*.key"])
    assert held(bench) == {".gitignore", "app.py", ".env", "secrets/one.key"}
    bench.write({".snapd.toml": b'exclude = [".env"]\n'})
    assert held(bench) == {".gitignore", ".snapd.toml", "app.py", "secrets/one.key"}


def test_git_agrees_where_it_has_a_rule_for_it(tmp_path: Path) -> None:
    """A negated pattern in the last ignore file does the same, outside ignored directories."""
    bench = make(tmp_path, FILES, git=True)
    bench.configure(include=["app/*.env", "/.env"])
    captured = held(bench)
    bench.write({".gitignore": IGNORES + b"!app/*.env\n!/.env\n"})
    listed = run_git(Path(bench.root), "ls-files", "--others", "--exclude-standard", "-z").decode()
    assert captured == set(listed.split("\0")) - {""}


def test_they_are_undone_like_all_others(tmp_path: Path) -> None:
    bench = make(tmp_path, FILES)
    bench.configure(include=[".env", "secrets/*.key"])
    before = bench.track()
    bench.write({".env": b"A=2\n", "secrets/new.key": b"new\n", "secrets/other.txt": b"not captured\n"})
    bench.remove("app/.env", "secrets/one.key")
    outcome = bench.restore(before)
    assert outcomes(outcome) == {
        ".env": "restored",
        "app/.env": "restored",
        "secrets/new.key": "deleted",
        "secrets/one.key": "restored",
    }
    assert bench.read() == {**FILES, "secrets/other.txt": b"not captured\n"}


def test_a_snapshot_from_before_the_setting_deletes_nothing(tmp_path: Path) -> None:
    bench = make(tmp_path, FILES)
    before = bench.track()
    bench.configure(include=[".env"])
    bench.track()
    bench.restore(before)
    assert bench.read() == FILES
