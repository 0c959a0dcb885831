"""The oracle: a copy of a folder with its git, and what differs between what is there and what must be."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .scenario import path_bytes

_TOKEN = re.compile(rb"mine-[a-z0-9]+")
"""What marks text of the person, which must not be lost."""
_MOST = 4
"""Differences that are named."""
_REFS = ("refs/heads", "refs/tags", "refs/remotes", "refs/stash")
_ALL = "set of all refs"
_OBJECTS = "number of objects"
_WHOLE = (_ALL.encode(), _OBJECTS.encode())
"""What a product may add to in the user's `.git`, except where a scenario says that it must not."""
_GIT: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("HEAD", ("symbolic-ref", "-q", "HEAD")),
    ("refs", ("for-each-ref", "--format=%(refname) %(objectname)", *_REFS)),
    (_ALL, ("for-each-ref", "--format=%(refname) %(objectname)")),
    ("index", ("ls-files", "--stage")),
    ("stash", ("reflog", "show", "--format=%H", "refs/stash")),
    ("reflog", ("reflog", "show", "--format=%H", "HEAD")),
    ("config", ("config", "--local", "--list")),
    ("history", ("rev-list", "--branches", "--tags", "--remotes", "--count")),
)


@dataclass(frozen=True)
class Entry:
    """What is at a path: `kind` is file, link, folder, git or other; `data` its bytes, target or state."""

    kind: str
    data: bytes = b""
    mode: int = 0
    mtime: int = 0
    inode: int = 0

    def same(self, other: Entry | None, *, whole_git: bool = False) -> bool:
        if other is None or (self.kind, self.mode) != (other.kind, other.mode):
            return False
        if self.kind == "git":
            return _parts(self, whole=whole_git) == _parts(other, whole=whole_git)
        return self.data == other.data


Tree = Mapping[bytes, Entry]


@dataclass(frozen=True)
class Difference:
    """What is wrong with a folder.

    Attributes:
        problems: in words, the first few.
        lost: what the person wrote, or all of git, that is nowhere any longer.
    """

    problems: tuple[str, ...]
    lost: tuple[str, ...]


def copy_tree(project: Path, own: Iterable[str] = ()) -> dict[bytes, Entry]:
    """Copies a folder.

    Args:
        project: the folder.
        own: names at its top that are the product's, and left out.
    """
    found: dict[bytes, Entry] = {}
    top = os.fsencode(project)
    left_out = {os.fsencode(name) for name in own}
    waiting = [b""]
    while waiting:
        below = waiting.pop()
        for item in os.scandir(os.path.join(top, below)):
            path = os.path.join(below, item.name)
            if path in left_out:
                continue
            found[path] = entry = _entry(item)
            if entry.kind == "folder":
                waiting.append(path)
    return found


def _entry(item: os.DirEntry[bytes]) -> Entry:
    info = item.stat(follow_symlinks=False)
    rest = (stat.S_IMODE(info.st_mode), info.st_mtime_ns, info.st_ino)
    if item.is_symlink():
        return Entry("link", os.readlink(item.path), 0, *rest[1:])
    if item.name == b".git":
        return Entry("git", _git_state(item.path))
    if item.is_dir():
        return Entry("folder", b"", rest[0])
    if not stat.S_ISREG(info.st_mode):
        return Entry("other")
    with open(item.path, "rb") as file:
        return Entry("file", file.read(), *rest)


def _git_state(path: bytes) -> bytes:
    where = os.path.dirname(path)
    pointer = b""
    if os.path.isfile(path):
        with open(path, "rb") as file:
            pointer = file.read()
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "GIT_CONFIG_NOSYSTEM": "1", "GIT_OPTIONAL_LOCKS": "0"}
    lines = [b"place\0" + pointer]
    for name, command in _GIT:
        done = subprocess.run(
            ["git", "-c", "safe.directory=*", *command], cwd=where, env=environment, capture_output=True, check=False
        )
        said = done.stdout.splitlines()
        # a reflog also has a line for a move to where HEAD is already
        kept = [line for at, line in enumerate(said) if name != "reflog" or at == 0 or line != said[at - 1]]
        lines.append(name.encode() + b"\0" + b"\n".join(kept))
    objects = sum(len(files) for _, _, files in os.walk(os.path.join(path, b"objects")))
    return b"\1".join([*lines, b"%s\0%d" % (_OBJECTS.encode(), objects)])


def _parts(entry: Entry, *, whole: bool) -> dict[bytes, bytes]:
    parts = dict(line.split(b"\0", 1) for line in entry.data.split(b"\1"))
    return {name: value for name, value in parts.items() if whole or name not in _WHOLE}


def tokens(trees: Iterable[Tree]) -> set[bytes]:
    """The person's marks in some trees."""
    return {token for tree in trees for entry in tree.values() for token in _TOKEN.findall(entry.data)}


def wanted(base: Tree, paths: Mapping[str, Any], git: Entry | None) -> dict[bytes, Entry]:
    """The tree that must be there: a copied one, except for what a scenario says, and with some state of git."""
    tree = dict(base)
    for name, value in paths.items():
        path = path_bytes(name)
        if value is False:
            for each in [each for each in tree if each == path or each.startswith(path + b"/")]:
                del tree[each]
        else:
            tree[path] = _wanted_entry(value, tree.get(path))
    if git is not None:
        tree[b".git"] = git
    return tree


def _wanted_entry(value: Any, old: Entry | None) -> Entry:
    mode = old.mode if old is not None and old.kind == "file" else 0o644
    if isinstance(value, str):
        return Entry("file", value.encode(), mode)
    if "link" in value:
        return Entry("link", value["link"].encode())
    if "folder" in value:
        return Entry("folder", b"", 0o755)
    data = value["text"].encode() if "text" in value else old.data if old is not None else b""
    return Entry("file", data, int(value["mode"], 8) if "mode" in value else mode)


def compare(there: Tree, want: Tree, before: Tree, mtimes: bool = False, whole_git: bool = False) -> Difference:
    """What is wrong with a folder.

    Args:
        there: what it is.
        want: what it must be.
        before: what it was before the undo.
        mtimes: whether files that were right before must keep their time.
        whole_git: whether nothing may be added to `.git`, such as refs of the product's own.
    """
    problems = []
    for path in sorted({*there, *want}):
        name = path.decode("utf-8", "backslashreplace")
        now, right = there.get(path), want.get(path)
        if right is None:
            # the entries of a folder stand for it, unless it is empty
            if now is not None and not (now.kind == "folder" and any(each.startswith(path + b"/") for each in there)):
                problems.append(f"{name} is there")
        elif now is None:
            problems.append(f"{name} is missing")
        elif not now.same(right, whole_git=whole_git):
            problems.append(_unlike(name, now, right, before.get(path)))
        elif mtimes and now.kind == "file" and path in before and now.same(before[path]):
            problems += [] if now.mtime == before[path].mtime else [f"{name} has another time"]
    gone = sorted(tokens([want]) - tokens([there]))
    lost = [token.decode() for token in gone]
    if b".git" in want and b".git" not in there:
        lost.append(".git")
    more = [f"and {len(problems) - _MOST} more"] if len(problems) > _MOST else []
    return Difference((*problems[:_MOST], *more), tuple(lost))


def _unlike(name: str, now: Entry, right: Entry, before: Entry | None) -> str:
    if now.kind != right.kind:
        return f"{name} is a {now.kind}"
    if now.kind == "git":
        have, should = _parts(now, whole=True), _parts(right, whole=True)
        changed = [key.decode() for key in should if have.get(key) != should[key]]
        return f"{name}: another {', '.join(changed)}"
    if now.data == right.data:
        return f"{name} has mode {now.mode:o}"
    if now.same(before):
        return f"{name} is as before"
    return f"{name} leads elsewhere" if now.kind == "link" else f"{name} has another text"
