"""What a cloned folder brings along is read within bounds; what is beyond them has no effect, which is said."""

from __future__ import annotations

import os
import time
import tracemalloc
from pathlib import Path

import pytest

from snapd.model.errors import InvalidParams
from snapd.model.ignore import IgnoreFile
from snapd.model.snapshot import Snapshot
from snapd.worktree.git.index_seed import Conversions
from snapd.worktree.ignore import workspace_excludes
from tests.support.git import run_git
from tests.support.workspace import Bench, make

SECONDS = 15.0
"""Of processor time: none takes a tenth of that on a quiet machine, and each took minutes."""
MEMORY = 64 << 20


def captured(bench: Bench) -> Snapshot:
    """Takes a snapshot, within bounds."""
    began = time.thread_time()
    tree = bench.take().tree
    assert time.thread_time() - began < SECONDS
    return bench.workspace.store.find(tree)


def unreadable(bench: Bench, snapshot: Snapshot) -> list[str]:
    """The files without effect, as the coverage and the status say."""
    said = [os.fsdecode(rule.base) for rule in snapshot.coverage.rules if rule.kind == "unreadable"]
    assert [os.fsdecode(path) for path in bench.workspace.snapshots.status().unreadable_rules] == said
    return [os.path.relpath(path, bench.root) if path.startswith("/") else path for path in said]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return make(tmp_path, {"a.txt": b"a\n", "sub/b.log": b"b\n", ".gitignore": b"*.o\n", "c.o": b""}, git=True)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (".gitignore", ".gitignore"),
        ("sub/.gitignore", "sub/.gitignore"),
        (".git/info/exclude", ".git/info/exclude"),
        ("../home/.config/git/ignore", "core.excludesFile"),
        (".git/index", ".git/index"),
        (".git/config", ".git/config"),
        (".git/commondir", ".git/commondir"),
        (".git/objects/info/alternates", None),
        (".git/info/attributes", None),
        ("sub/.gitattributes", None),
        ("sub/.git", None),
        (f".git/objects/pack/pack-{'0' * 40}.idx", None),
    ],
)
def test_a_file_of_a_gibibyte(bench: Bench, name: str, said: str | None) -> None:
    path = bench.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    run_git(bench.root, "add", "a.txt")
    if path.suffix == ".idx":
        path.with_suffix(".pack").write_bytes(b"PACK" + bytes(28))
    with path.open("r+b" if path.exists() else "wb") as file:
        file.truncate(1 << 30)
    tracemalloc.start()
    snapshot = captured(bench)
    assert tracemalloc.get_traced_memory()[1] < MEMORY
    tracemalloc.stop()
    assert unreadable(bench, snapshot) == ([] if said is None else [said])
    assert ("c.o" in bench.names(snapshot.tree)) == (name == ".gitignore")
    path.unlink()
    assert unreadable(bench, captured(bench)) == []


HOSTILE = {
    "[!a]": b"[!a]" * 100_000,
    "[^a] in many lines": b"".join(b"%d%s\n" % (at, b"[!a]" * 100) for at in range(1000)),
    "stars": b"*a" * 200_000,
    "many stars": b"".join(b"*%d*a\n" % at for at in range(40_000)),
    "directories": b"**/" * 130_000 + b"x",
    "class": b"[" + b"[:alpha:]" * 44_000 + b"]",
    "open classes": b"[" + b"[:" * 200_000 + b"]",
    "suffixes": b"".join(b"*.%06x\n" % at for at in range(52_000)),
    "slashes": b"a/" * 200_000,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_patterns_that_take_long(kind: str) -> None:
    began = time.thread_time()
    file = IgnoreFile.parse(HOSTILE[kind] + b"\n*.log\n")
    # as for git, a pattern that is longer than any path says nothing, and the others stay in force
    assert file.match(b"sub/b.log", False) is (None if file.unreadable else True)
    assert file.match(b"a" * 200, True) is None
    conversions = Conversions(fold=False)
    conversions.add(HOSTILE[kind].replace(b"\n", b" filter=x\n") + b" filter\n*.log filter\n", b"")
    assert conversions.may_convert(b"sub/b.log")
    assert time.thread_time() - began < SECONDS


def test_patterns_that_are_too_long_in_a_folder(bench: Bench) -> None:
    many = HOSTILE["many stars"]
    bench.write(
        {".gitignore": many, ".git/info/exclude": many, "sub/.gitattributes": many.replace(b"\n", b" filter\n")}
    )
    snapshot = captured(bench)
    assert unreadable(bench, snapshot) == [".git/info/exclude", ".gitignore"]
    assert {"a.txt", "c.o", "sub/b.log"} <= set(bench.names(snapshot.tree))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"a." * 50_000 + b"a = 1", "more than 64 KiB"),
        (b"a." * 30_000 + b"a = 1", "too many parts"),
        (b"[" + b"'a'." * 10_000 + b"a]", "too many parts"),
        (b"x = " + b"[" * 5000, "nested too deeply"),
        (b"x = " + b"{a=" * 5000, "nested too deeply"),
        (b'x = "' + b'\\"' * 30_000, "Unterminated string"),
        (b"exclude = " + b"9" * 60_000, "4300 digits"),
        (b"exclude = [" + b"'[!a]*',\n" * 7000 + b"]", "too many patterns"),
        (b"k" * 60_000 + b" = 1", "unknown key"),
    ],
)
def test_settings_that_take_long(bench: Bench, text: bytes, said: str) -> None:
    bench.write({".snapd.toml": text})
    began = time.thread_time()
    # the folder is captured all the same
    bench.take()
    assert time.thread_time() - began < SECONDS
    descriptor = os.open(bench.root, os.O_RDONLY)
    with pytest.raises(InvalidParams, match=said) as raised:
        workspace_excludes(descriptor)
    os.close(descriptor)
    assert raised.value.hint != InvalidParams.default_hint


def test_macros_of_attributes_that_use_each_other() -> None:
    # each is defined by the one after it, so that the last line gives a meaning to all
    lines = [b"[attr]m%d m%d" % (at, at + 1) for at in range(20_000)]
    conversions = Conversions(fold=False)
    began = time.thread_time()
    conversions.add(b"\n".join(lines), b"")
    conversions.add(b"*.txt m0\n", b"a")
    assert not conversions.may_convert(b"a/b.txt")
    conversions.add(b"[attr] m20000 filter=x\n", b"")
    assert conversions.may_convert(b"a/b.txt")
    assert not conversions.may_convert(b"b.txt")
    for at in range(20_000):
        conversions.add(b"[attr]n%d ident\n*.c n%d\n" % (at, at), b"d%d" % at)
    assert conversions.may_convert(b"d7/x/y.c")
    assert not conversions.may_convert(b"d/x.c")
    assert time.thread_time() - began < SECONDS


def test_a_configuration_that_includes_itself_many_times(bench: Bench) -> None:
    config = bench.root / ".git" / "config"
    config.write_text(config.read_text() + "[core]\n\texcludesFile = /x\n" + "[include]\n\tpath = config\n" * 20)
    assert unreadable(bench, captured(bench)) == [".git/config"]


@pytest.mark.parametrize("name", [".git/objects/info/alternates", "nested/.git", "nested/.git/commondir"])
def test_a_path_of_many_parts(bench: Bench, name: str) -> None:
    if name.endswith("commondir"):
        run_git(bench.root, "init", "-q", "nested")
    for at in range(1500):
        os.symlink(f"l{at + 1}", bench.root / f"l{at}")
    for path in (b"a/" * 400_000, b"l0/" * 1000):
        bench.write({name: (b"gitdir: " if name.endswith(".git") else b"") + b"../" + path + b"\n"})
        captured(bench)
    if name.endswith("alternates"):
        bench.write({name: b"\n".join(b"../../l%d/../objects" % (at % 1000) for at in range(40_000))})
        captured(bench)
