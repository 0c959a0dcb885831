"""A workspace of a soak: its folder, what is known of it, and who is at work there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from random import Random

from snapd_client import to_uri

from tests.support.git import run_git

from .disk import MAX_FILE_SIZE, Contents, Entry, State, captured, scan, tree_id
from .edits import User, text
from .store import Store

NOT_UTF8 = os.fsdecode(b"src/caf\xe9.txt")


class Place:
    """A workspace.

    Args:
        restores: whether its snapshots are restored. Where they are not, the states of steps say which of their files
            are there.

    Attributes:
        snapshots: what is in each that was answered, where that is known for certain.
        doubtful: those that may have expired.
        unsaved: files of which an editor has unsaved text.
        overwriting: how many operations are under way that overwrite what conflicts.
        only_copies: files that an operation kept as the only copy of what was never captured: where a look came between
            the writing of a file aside and its move into the folder, nothing tells it from a file of somebody else's.
    """

    def __init__(self, above: Path, name: str, git: bool, restores: bool, contents: Contents, dice: Random) -> None:
        self.name = name
        self.root = str(above / name)
        self.uri = to_uri(self.root)
        self.outside = str(above / f"outside-{name}")
        self.aside = str(above / "aside")
        self.git = git
        self.restores = restores
        self.contents = contents
        self.snapshots: dict[str, State] = {}
        self.doubtful: set[str] = set()
        self.unsaved: set[str] = set()
        self.overwriting = 0
        self.only_copies: set[str] = set()
        self.store: Store
        self.user = User(self.root, self.outside)
        self._fill(dice)
        self.fixed = self._stamps()

    def _fill(self, dice: Random) -> None:
        root = Path(self.root)
        for above in ("src/doc", "src/racy", "user", "ignored", "ledger"):
            (root / above).mkdir(parents=True)
        Path(self.outside).mkdir(exist_ok=True)
        Path(self.aside).mkdir(exist_ok=True)
        for name in ("theirs.txt", "base0.txt"):
            (Path(self.outside) / name).write_bytes(b"theirs\n")
        (root / ".gitignore").write_text("ignored/\n*.log\n")
        names = [f"src/base{number}.txt" for number in range(8)]
        names += [f"src/doc/doc{number}.txt" for number in range(4)]
        names += [f"src/racy/racy{number}.txt" for number in range(3)]
        for name in [*names, NOT_UTF8]:
            (root / name).write_bytes(text(dice))
        for name in ("ignored/kept", "user/debug.log"):
            (root / name).write_bytes(text(dice))
        (root / "too-large").write_bytes(b"x" * (MAX_FILE_SIZE + 1))
        os.mkfifo(root / "pipe")
        os.symlink(self.outside, root / "away")
        if self.git:
            (root / "tracked.log").write_bytes(text(dice))
            run_git(root, "init", "-q")
            run_git(root, "add", "-f", "tracked.log", ".gitignore", "src/base0.txt", "src/base1.txt")
            run_git(root, "commit", "-q", "-m", "begun")

    def scan(self) -> State:
        return scan(self.root, self.contents)

    def shown(self, name: str) -> str:
        """A file as a request names it."""
        try:
            name.encode()
        except UnicodeEncodeError:
            return to_uri(os.path.join(self.root, name))
        return name

    def known(self, state: State) -> str:
        """Keeps what a snapshot of a state has to hold; gives its hash."""
        files = captured(state)
        tree = tree_id(files)
        self.snapshots[tree] = files
        return tree

    def bytes_of(self, entry: Entry) -> bytes:
        return self.contents[entry[1]]

    def touched(self) -> list[str]:
        """What of that which nobody may touch is no longer as it was."""
        now = self._stamps()
        return sorted(path for path in {*now, *self.fixed} if now.get(path) != self.fixed.get(path))

    def _stamps(self) -> dict[str, tuple[int, ...]]:
        """Outside, ignored, skipped, and the project's own git: inode, size, times and mode of each file."""
        root = self.root
        found = [os.path.join(root, name) for name in ("too-large", "pipe", "ignored", "away", "user/debug.log")]
        for top in (self.outside, os.path.join(root, "ignored"), os.path.join(root, ".git")):
            for above, directories, names in os.walk(top):
                found += [os.path.join(above, name) for name in [*directories, *names]]
        stamps: dict[str, tuple[int, ...]] = {}
        for path in found:
            if os.path.lexists(path):
                status = os.lstat(path)
                # the store links to objects of the project's git: that counts in their ctime
                changed = 0 if "/.git/" in path else status.st_ctime_ns
                stamps[path] = (status.st_ino, status.st_size, status.st_mtime_ns, changed, status.st_mode)
        return stamps

    def drop_ledger(self, session: str) -> None:
        shutil.rmtree(os.path.join(self.root, "ledger", session), ignore_errors=True)
