"""A folder with snapd at work in this process, in which nothing depends on the time or on the machine."""

from __future__ import annotations

import errno
import os
import subprocess
import zlib
from typing import TYPE_CHECKING, Any

import orjson

from snapd.backend import LocalBackend
from snapd.core.feed import PacedThread
from snapd.housekeeping import Calendar
from snapd.locations import Locations
from snapd.settings.in_force import Base, Options, SettingsFile
from snapd.store.journal import journal
from snapd.store.objects import compression, pack_index
from snapd.watch import inotify_clock
from snapd.watch.inotify_clock import Mounts
from snapd.watch.queues import Unsupported
from snapd.workspaces import Workspaces
from snapd.worktree.apply import applier, directories, files
from snapd.worktree.fs import stable_read, system
from snapd.worktree.snapshot import walker

if TYPE_CHECKING:
    from collections.abc import Mapping

_NOON = 1_767_268_800
"""All is done on one day: a new day begins new chains."""
_NEVER = 1 << 30
_NEVER_NS = -(10**18)
_OLD_NS = 1_500_000_000 * 10**9
_UMASK = 0o022
_LINES = 20
_unpublished: set[journal.Journal] = set()


def make_exact() -> None:
    """Takes out of this process what makes the same work cost more or less.

    Files count as written long ago, so none is read twice; what was recorded is published when `Place.publish` says so,
    and never as a pack, whose order depends on ids that are drawn; nothing is mounted meanwhile; fanotify, which not
    every machine has, is not used; all directories are listed here; nobody looks unasked; the file system is one that
    can be synced as a whole, and nobody else writes to it. Objects are stored without compression, since each build of
    a compressor finds other bytes.
    """
    for owner, name, value in (
        (stable_read, "TICK_NS", _NEVER_NS),
        (stable_read, "COARSE_NS", _NEVER_NS),
        (pack_index, "TICK_NS", _NEVER_NS),
        (journal, "publish_later", _unpublished.add),
        (journal, "LOOSE_MOST", _NEVER),
        (walker, "LISTER_FROM", _NEVER),
        (compression, "_fast", zlib),
        (compression, "_FAST_LEVEL", 0),
        (compression, "_SMALL_LEVEL", 0),
        (Calendar, "now", lambda _: float(_NOON)),
        (Mounts, "changed", lambda _: False),
        (inotify_clock, "Fanotify", _no_fanotify),
        (PacedThread, "_run", lambda _: None),
        (applier, "can_sync_together", lambda _: True),
        (directories, "can_sync_together", lambda _: True),
        (files, "can_sync_together", lambda _: True),
        (system, "bytes_waiting", lambda: 0),
    ):
        # what is gone would no longer be taken out
        assert hasattr(owner, name), f"{owner} has no {name}"
        setattr(owner, name, value)


def _no_fanotify(_: object) -> None:
    raise Unsupported(errno.EPERM, os.strerror(errno.EPERM))


def project(count: int) -> dict[str, bytes]:
    """Small text files, ten to a directory."""
    return {
        f"d{at // 10:03}/f{at % 10}.txt": b"".join(b"line %d of %d\n" % (line, at) for line in range(_LINES))
        for at in range(count)
    }


class Place:
    """A folder, and the workspace of it.

    Args:
        directory: an empty one.
        files: of the folder.
        in_git: whether they are committed in a git repository, packed as a clone has them.

    Attributes:
        folder: the folder, `project` in the directory.
    """

    def __init__(self, directory: str, files: Mapping[str, bytes], *, in_git: bool = False) -> None:
        self.folder = os.path.join(directory, "project")
        self.directory = directory
        self._numbers = 0
        self._store = ""
        os.mkdir(self.folder)
        self.write(files)
        if in_git:
            self._commit(files)
        home = os.path.join(directory, "home")
        os.mkdir(home)
        self._locations = Locations(
            os.path.join(home, "config.toml"), os.path.join(directory, "data"), os.path.join(directory, "run"), home
        )
        self._workspaces: Workspaces | None = None
        self._backend: LocalBackend | None = None

    def open(self) -> None:
        """Opens the folder as a new daemon would; what had it open before is closed."""
        self.close()
        self._workspaces = Workspaces(self._locations, None, _UMASK, None)
        options = Options(Base(SettingsFile(self._locations.config_file)), object())
        self._store = self._workspaces.store_of(os.fsencode(self.folder), options.settings)
        self._backend = LocalBackend(self._workspaces, self.folder, options)

    def close(self) -> None:
        """Closes it in order."""
        if self._workspaces is not None:
            self._workspaces.close()

    def ready(self) -> str:
        """Opens it and takes the first snapshots, so that whatever is made once is there.

        Returns:
            The tree's id.
        """
        self.open()
        self.track()
        self.edit(1)
        for number in range(256):
            # which of them a step makes depends on ids that are drawn
            os.makedirs(os.path.join(self._store, "objects", f"{number:02x}"), exist_ok=True)
        return self.track()

    def publish(self) -> None:
        """Writes what was recorded as files, which a daemon does once nothing more comes."""
        while _unpublished:
            _unpublished.pop().publish()

    def length(self, answer: object) -> int:
        """How many bytes an answer takes as JSON, wherever the folder lies."""
        return len(orjson.dumps(answer).replace(self.directory.encode(), b""))

    def request(self, method: Any, **params: Any) -> Any:
        """The answer to a request, as JSON values."""
        assert self._backend is not None
        given: Any = params
        return self._backend.request(method, given)

    def track(self) -> str:
        """Takes a snapshot; returns the tree's id."""
        return str(self.request("snapshot/track")["hash"])

    def step(self, count: int) -> str:
        """A step that changes so many files; returns its id."""
        step = str(self.request("step/begin", sessionId="guard")["stepId"])
        self.edit(count)
        self.request("step/end", stepId=step)
        return step

    def write(self, files: Mapping[str, bytes]) -> None:
        """Puts files into the folder."""
        for name, data in files.items():
            path = os.path.join(self.folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(data)

    def edit(self, count: int) -> None:
        """Replaces a line, by another one each time, in each of the first so many files."""
        self._numbers += 1
        for at, name in enumerate(project(count)):
            path = os.path.join(self.folder, name)
            with open(path, "rb") as file:
                lines = file.readlines()
            lines[self._numbers % len(lines)] = b"edit %06d of %06d\n" % (self._numbers, at)
            self.write({name: b"".join(lines)})

    def commit(self) -> None:
        """Commits everything."""
        self._git(self.folder, "commit", "-qam", "guard")

    def objects(self) -> dict[str, tuple[str, int]]:
        """Kind and length of each object in the store, as git finds them; none before the folder was opened."""
        if not self._store:
            return {}
        words = ["cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype) %(objectsize)"]
        matches = (line.split() for line in self._git(self._store, *words).splitlines())
        return {name: (kind, int(size)) for name, kind, size in matches}

    def _commit(self, files: Mapping[str, bytes]) -> None:
        for name in files:
            os.utime(os.path.join(self.folder, name), ns=(_OLD_NS, _OLD_NS))
        for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "guard"], ["gc", "-q"]):
            self._git(self.folder, *words)
        # what is as old as the index is not believed, and all of this is of one moment
        later = os.stat(self.folder).st_ctime_ns + 10 * 10**9
        os.utime(os.path.join(self.folder, ".git", "index"), ns=(later, later))

    def _git(self, folder: str, *words: str) -> str:
        names = {f"GIT_{who}_{what}": "guard" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        # with another time, the ids of commits would be others, and with them the directories of loose objects
        names |= {f"GIT_{who}_DATE": f"{_NOON} +0000" for who in ("AUTHOR", "COMMITTER")}
        environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", **names}
        done = subprocess.run(
            ["git", "-c", "gc.auto=0", *words], cwd=folder, env=environment, stdout=subprocess.PIPE, check=True
        )
        return done.stdout.decode()
