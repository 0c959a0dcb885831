"""Every place where objects are read, run on damaged ones: a program, so that one that never returns can be ended.

    python -m tests.store.reads FOLDER {theirs,ours} {loose,packed} DAMAGE...

`theirs` damages what the project's own git has before the first snapshot, `ours` what the store has after some. For
each damage it prints a line for each place, before it is run, and what came of it.
"""

from __future__ import annotations

import hashlib
import os
import resource
import struct
import sys
import time
import zlib
from collections.abc import Callable, Collection
from functools import cache
from pathlib import Path

from snapd.model.call import Call
from snapd.model.errors import SnapdError
from snapd.store.fsck import checkers
from snapd.store.fsck.checkers import check_closed
from snapd.store.maintenance import repack
from snapd.store.objects.compression import deflater
from snapd.store.objects.loose import encode_loose, loose_files, write_loose
from snapd.store.objects.pack_entry import entry_start
from snapd.store.objects.pack_index import PackIndex
from snapd.store.objects.pack_writer import write_index
from snapd.store.usage.usage import usage
from tests.store.fsck.damage import cut, empty, flip, replace
from tests.support.git import run_git
from tests.support.sessions import Agents
from tests.support.workspace import Bench, Items, make

MEMORY = 1 << 30
"""More memory than this is not taken, whatever an object says of its size."""


# -- loose objects


def bomb(path: Path) -> None:
    """Says that it is small, and fills all memory."""
    replace(path, _bomb())


@cache
def _bomb() -> bytes:
    stream = deflater()
    zeros = bytes(16 << 20)
    pieces = [stream.compress(b"blob 9\0"), *(stream.compress(zeros) for _ in range(MEMORY // len(zeros)))]
    return b"".join((*pieces, stream.flush()))


def boast(path: Path) -> None:
    """Says that it is larger than any disk."""
    replace(path, zlib.compress(b"blob 99999999999999999999999\0hello"))


def pipe(path: Path) -> None:
    """Nobody ever writes to it."""
    path.unlink()
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


LOOSE: dict[str, Callable[[Path], None]] = {
    damage.__name__: damage for damage in (cut, empty, flip, bomb, boast, pipe, folder)
}


# -- packs


def varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


COPY = varint(5) + varint(5) + b"\x90\x05"
GREEDY = varint(5) + varint(1 << 40) + b"\x90\x05"
ENDLESS = b"\x80" * 31
Made = dict[bytes, bytes]


def circle(ids: list[bytes]) -> Made:
    """Each a delta of the next, and the last of the first."""
    return {oid: entry_start(7, len(COPY)) + ids[at - 1] + zlib.compress(COPY) for at, oid in enumerate(ids)}


def itself(ids: list[bytes]) -> Made:
    return {oid: entry_start(7, len(COPY)) + oid + zlib.compress(COPY) for oid in ids}


def huge(ids: list[bytes]) -> Made:
    return {oid: entry_start(3, 1 << 60) + zlib.compress(b"hello") for oid in ids}


def endless(ids: list[bytes]) -> Made:
    return dict.fromkeys(ids, b"\xb0" + ENDLESS)


def greedy(ids: list[bytes]) -> Made:
    """A delta that says that it makes a terabyte."""
    base = bytes(20)
    deltas = {oid: entry_start(7, len(GREEDY)) + base + zlib.compress(GREEDY) for oid in ids}
    return {base: entry_start(3, 5) + zlib.compress(b"hello"), **deltas}


def torn(ids: list[bytes]) -> Made:
    return {oid: entry_start(3, 50_000) + zlib.compress(os.urandom(50_000))[:300] for oid in ids}


def nothing(ids: list[bytes]) -> Made:
    """A delta of what lies before the pack."""
    return {oid: entry_start(6, len(COPY)) + b"\xff\xff\x7f" + zlib.compress(COPY) for oid in ids}


def stranger(ids: list[bytes]) -> Made:
    """Of a type that there is not."""
    return {oid: entry_start(5, 5) + zlib.compress(b"hello") for oid in ids}


PACKS: dict[str, Callable[[list[bytes]], Made]] = {
    made.__name__: made for made in (circle, itself, huge, endless, greedy, torn, nothing, stranger)
}
FAR = "far"
"""An index that says that its objects lie where no file has anything."""


def replace_pack(objects: Path, damage: str, kept: Collection[bytes]) -> None:
    """Has one pack hold all that the packs there held, each object made to do harm; what is kept becomes loose."""
    ids: set[bytes] = set()
    for index in sorted(objects.glob("pack/*.idx")):
        found = PackIndex.load(str(index), str(index.with_suffix(".pack")))
        assert found is not None
        ids |= found.ids() - set(kept)
        for oid in kept:
            if (whole := found.read(oid)) is not None:
                write_loose(str(objects), oid, encode_loose(*whole))
        for path in index.parent.glob(f"{index.stem}.*"):
            path.unlink()
    entries = PACKS.get(damage, torn)(sorted(ids))
    body, lines = b"PACK" + struct.pack(">II", 2, len(entries)), []
    for oid, raw in entries.items():
        lines.append((oid, zlib.crc32(raw), 0xFFFFFFFFFFFFFF00 if damage == FAR else len(body)))
        body += raw
    checksum = hashlib.sha1(body).digest()
    path = objects / "pack" / f"pack-{checksum.hex()}"
    path.with_suffix(".pack").write_bytes(body + checksum)
    write_index(f"{path}.idx", lines, checksum)
    for ending in (".pack", ".idx"):
        path.with_suffix(ending).chmod(0o600)


# -- the places


FILES: Items = {
    ".gitattributes": b"*.txt text\n" * 40,
    **{f"d/{at}.txt": b"".join(b"line %d of %d\n" % (line, at) for line in range(60)) for at in range(8)},
}


def edited(turn: int) -> Items:
    """Some files changed, one moved."""
    text = FILES["d/1.txt"]
    assert isinstance(text, bytes)
    return {"d/1.txt": text.replace(b"line 7 ", b"line %d! " % turn), f"moved{turn}.txt": FILES["d/2.txt"]}


def theirs(path: Path, packed: bool, damage: str) -> Bench:
    """A project whose own git has damaged objects; nothing was read of it yet."""
    work = path / "work"
    bench = make(path, FILES, git=True)
    bench.close()
    run_git(work, "add", "-A")
    run_git(work, "commit", "-q", "-m", "x")
    if packed:
        run_git(work, "repack", "-q", "-a", "-d")
    later = time.time_ns() + 10_000_000_000
    os.utime(work / ".git" / "index", ns=(later, later))
    harm(work / ".git" / "objects", packed, damage)
    bench.open()
    return bench


def ours(path: Path, packed: bool, damage: str) -> tuple[Bench, str, list[bytes]]:
    """A workspace with some snapshots and steps, and a store of which all blobs and old trees are damaged."""
    bench = make(path, FILES)
    agents = Agents(bench)
    trees = [bench.track()]
    agents.start("s")
    for turn in range(3):
        agents.step("s", edited(turn))
        trees.append(bench.track())
    store = Path(bench.store)
    if packed:
        bench.workspace.upkeep.cleanup(9999, Call())
    bench.close()
    # so that the store can be opened, and there is something left to look at
    named = ("--glob=refs/snapd/snapshots", "--glob=refs/snapd/sessions")
    kept = [bytes.fromhex(oid) for oid in run_git(store, "--git-dir=.", "rev-list", *named).decode().split()]
    harm(store / "objects", packed, damage, kept)
    return bench, str(store), trees


def harm(objects: Path, packed: bool, damage: str, kept: Collection[bytes] = ()) -> None:
    if packed:
        replace_pack(objects, damage, kept)
        return
    for oid, entry in list(loose_files(str(objects))):
        if oid not in kept:
            os.chmod(entry.path, 0o600)
            LOOSE[damage](Path(entry.path))


def places(bench: Bench, trees: list[bytes]) -> dict[str, Callable[[], object]]:
    """What reads objects."""
    workspace, agents = bench.workspace, Agents(bench)
    old, new = trees[0], trees[-1]
    return {
        "track": bench.track,
        "patch": lambda: workspace.comparison.changed(old, new, Call()),
        "diff": lambda: workspace.comparison.diff(old, new, [], Call()),
        "diffFull": lambda: workspace.comparison.deltas(old, new, Call(), renames=True),
        "names": lambda: bench.names(old),
        "fileAt": lambda: workspace.snapshots.file_at(old, b"d/1.txt"),
        "sessionDiff": lambda: workspace.net_changes.page(
            "s", None, None, Call(), contents=True, after=None, limit=None
        ),
        "undo": lambda: agents.undo("s"),
        "dryRun": lambda: bench.restore(old, dry_run=True),
        "revert": lambda: bench.revert((old, ["d/1.txt", "d/3.txt"])),
        "restore": lambda: bench.restore(old),
        "again": bench.track,
        "usage": lambda: usage(bench.store),
        "quick": lambda: workspace.upkeep.check(Call(), quick=True),
        "fsck": lambda: workspace.upkeep.check(Call(), quick=False),
        "cleanup": lambda: workspace.upkeep.cleanup(0, Call()),
        "purge": lambda: workspace.upkeep.purge([b"d/5.txt"], False, Call()),
        "repair": lambda: workspace.upkeep.repair(Call()),
        "last": bench.track,
    }


def run(name: str, read: Callable[[], object]) -> None:
    print(name, end=" ", flush=True)
    try:
        read()
        print("done", flush=True)
    except SnapdError as error:
        print(error.kind, flush=True)


def main() -> None:
    where, side, form, *damages = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    # in this process, where an end is seen, and no other has to be started
    checkers.can_start = repack.can_start = lambda: False
    for damage in damages:
        print(f"[{damage}]", flush=True)
        read_all(Path(where) / damage, side, form, damage)


def read_all(where: Path, side: str, form: str, damage: str) -> None:
    where.mkdir(parents=True)
    if side == "theirs":
        bench = theirs(where, form == "packed", damage)
        trees: list[bytes] = []
        run("first", lambda: trees.append(bench.track()))
        bench.write(edited(1))
        run("second", lambda: trees.append(bench.track()))
    else:
        bench, store, trees = ours(where, form == "packed", damage)
        run("closed", lambda: check_closed(store, Call(), quick=False, mend=False))
        run("open", bench.open)
    if trees and bench.is_open:
        for name, read in places(bench, trees).items():
            run(name, read)
    run("close", bench.close)


if __name__ == "__main__":
    main()
