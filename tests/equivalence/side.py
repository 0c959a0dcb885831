"""One of the two daemons that are compared, with its clients, its folders and its clock."""

from __future__ import annotations

import asyncio
import hashlib
import json
import mmap
import os
import re
import shutil
import stat
import struct
import subprocess
from collections.abc import Collection
from pathlib import Path
from random import Random
from typing import Any

from snapd_client import to_uri

from tests.soak.client import PATIENCE, Client, Refused, Tape
from tests.soak.daemon import Daemon
from tests.soak.disk import Contents, scan
from tests.soak.edits import User, edited, overwrite
from tests.soak.figures import Figures
from tests.support.git import run_git

from .names import Names

WHO = ("tool", "ada", "ben", "cyd")
"""The clients of a history."""
MAX_FILE_SIZE = 1 << 16
EPOCH = 3_786_912_000
"""The year 2090, when each history begins: by their times, what comes from the clock is told from what does not."""
_PACED = frozenset({"snapshot/didChange", "review/didChange"})
"""Notifications that come when the daemon has looked, as often as it sees fit."""
_SERVE = f"""
import mmap, sys, time
del sys.argv[0]
with open(sys.argv.pop(1), "rb") as file:
    clock = mmap.mmap(file.fileno(), 8, prot=mmap.PROT_READ)
real = time.clock_gettime
time.time_ns = lambda: int.from_bytes(clock[:8], "little")
time.time = lambda: time.time_ns() / 1e9
time.clock_gettime = lambda which: time.time() - {EPOCH - 10**7} if which == time.CLOCK_BOOTTIME else real(which)
from snapd.__main__ import main
sys.exit(main())
"""
"""Runs snapd with a clock that the harness moves, so that both daemons see the same time at each operation."""
_HOT = 4
"""Files that everybody writes."""


class Clock:
    """The time of both daemons."""

    def __init__(self, path: Path) -> None:
        path.write_bytes(bytes(8))
        self.path = path
        with path.open("r+b") as file:
            self._shared = mmap.mmap(file.fileno(), 8)
        self.now = 0.0
        self.set(EPOCH)

    def set(self, seconds: float) -> None:
        """Moves the clock to a time since 1970."""
        self.now = seconds
        struct.pack_into("<Q", self._shared, 0, int(seconds * 1e9))


class _Daemon(Daemon):
    """A daemon of a checkout, in the Python of that."""

    def __init__(self, folder: Path, checkout: Path, clock: Path) -> None:
        super().__init__(folder, Figures())
        python = str(checkout / ".venv" / "bin" / "python")
        self._command = [python, "-EP", "-c", _SERVE, str(checkout / ".venv/bin/snapd"), str(clock), "serve"]
        self.environment["SNAPD_MAX_FILE_SIZE"] = str(MAX_FILE_SIZE)
        said = subprocess.check_output([python, "-EP", "-c", "import snapd; print(snapd.__file__)"], text=True)
        assert Path(said.strip()).is_relative_to(checkout), f"the Python of {checkout} runs {said.strip()}"

    def _spawn(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                self._command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/"
            )


class _Tape(Tape):
    """Notes how far each client has heard."""

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[str, int] = {}
        self._hears = asyncio.Event()

    def connect(self, who: str) -> None:
        """A client begins to hear."""
        self._last.pop(who, None)

    def hear(self, heard: dict[str, int], who: str, method: str, params: dict[str, Any]) -> None:
        super().hear(heard, who, method, params)
        self._last[who] = params["seq"]
        self._hears.set()

    async def heard(self, who: str, number: int) -> None:
        """Waits until a client that heard anything heard all up to a number."""
        while self._last.get(who, number) < number:
            self._hears.clear()
            await self._hears.wait()


class Side:
    """A daemon, and one folder after the other in which a history goes on.

    Args:
        top: the folder of a run.
        name: of this side, three letters.
        checkout: whose daemon it is.
        clock: of both sides.
    """

    def __init__(self, top: Path, name: str, checkout: Path, clock: Clock) -> None:
        self.name = name
        self._above = top / name
        self._shared = str(top / "all")
        self._outside = top / "outside"
        self._outside.mkdir(exist_ok=True)
        self.daemon = _Daemon(self._above, checkout, clock.path)
        self._tape = _Tape()
        self._clients: dict[str, Client] = {}
        self._since: int | None = None

    # -- a history

    async def begin(
        self, name: str, settings: dict[str, Any], ignored: Collection[str], is_git: bool, dice: Random
    ) -> None:
        """Makes the folder of a history, and opens it.

        Args:
            name: of the folder.
            settings: that the clients send.
            ignored: what is not compared.
            is_git: whether it is a git repository.
            dice: say what is in it.
        """
        self._settings, self._ignored = settings, ignored
        self.root = self._above / name
        self.uri = to_uri(str(self.root))
        self._names = Names(str(self._above), self._shared, ignored)
        self._user = User(str(self.root), str(self._outside))
        self._fill(is_git, dice)
        for who in WHO:
            await self._connect(who)
        status = await self._clients["tool"].ask("snapshot/status", {})
        self._names.learn(status["projectId"], "<project>")
        self.store = status["store"]["path"]
        self._since = None

    async def end(self) -> None:
        """Hangs up, once all clients heard all that was told; removes the folder."""
        told = await self._clients["tool"].ask("snapshot/events", {"since": self._since or 0})
        for client in self._clients.values():
            await asyncio.wait_for(self._tape.heard(client.name, told["latest"]), PATIENCE)
            await client.hang_up()
        self._tape.diary.check()
        shutil.rmtree(os.fsencode(self.root))

    async def abandon(self) -> None:
        """Ends all at once, after something did not hold."""
        for client in self._clients.values():
            client.close()
        await self.daemon.abandon()
        await asyncio.sleep(0)

    async def _connect(self, who: str) -> None:
        client = Client(f"{self.root.name}-{who}", self._tape)
        self._tape.connect(client.name)
        self._clients[who] = await client.open(self.daemon.socket, [str(self.root)], self._settings)

    def _fill(self, is_git: bool, dice: Random) -> None:
        for above in ("src/doc", "user", "ignored"):
            (self.root / above).mkdir(parents=True)
        (self.root / ".gitignore").write_text("ignored/\n*.log\n")
        names = [f"src/base{number}.txt" for number in range(_HOT)] + ["src/doc/a.txt", os.fsdecode(b"src/caf\xe9.txt")]
        for name in [*names, "ignored/kept", "user/debug.log"]:
            (self.root / name).write_bytes(edited(b"", dice) * 5 + b"".join(b"%d\n" % line for line in range(20)))
        (self.root / "too-large").write_bytes(b"x" * (MAX_FILE_SIZE + 1))
        os.mkfifo(self.root / "pipe")
        if is_git:
            (self.root / "tracked.log").write_bytes(b"tracked\n")
            run_git(self.root, "init", "-q")
            run_git(self.root, "add", "-f", "tracked.log", ".gitignore", "src/base0.txt")
            run_git(self.root, "commit", "-q", "-m", "begun")

    # -- operations

    async def ask(self, who: str, method: str, params: Any) -> str:
        """Sends a request; gives what was answered."""
        try:
            answer = {"result": await self._clients[who].ask(method, self._names.asked(params))}
        except Refused as refused:
            answer = {"error": refused.error}
        return self._names.told(method, answer)

    def edit(self, dice: Random) -> str:
        """Somebody changes files."""
        root = self.root
        for above in ("src", "user"):
            (root / above).mkdir(exist_ok=True)
        # where files are watched, the daemon also looks between requests: what it then takes in of ignored files is
        # not for the seed to say
        ignored = ["rules", "ignored", "ignored away"] if self._settings["watcher"] == "none" else []
        kind = dice.choice(["any"] * 6 + ["hot"] * 5 + ["link", *ignored])
        hot = root / f"src/base{dice.randrange(_HOT)}.txt"
        rules = dice.choice(["ignored/\n*.log\n", "ignored/\n*.log\nuser/d1/\n", "*.log\nsrc/base3.txt\n", ""])
        if kind == "hot" and not hot.is_dir():
            before = hot.read_bytes() if hot.exists() else b""
            overwrite(str(root), str(hot.relative_to(root)), edited(before, dice))
        elif kind == "rules":
            (root / ".gitignore").write_text(rules)
        elif kind == "ignored":
            (root / "ignored").mkdir(exist_ok=True)
            (root / "ignored" / f"n{dice.randrange(3)}").write_bytes(dice.randbytes(20))
        elif kind == "ignored away":
            moved = root / "user" / f"away{dice.randrange(3)}"
            if (root / "ignored" / "kept").exists() and not moved.exists():
                (root / "ignored" / "kept").rename(moved)
        elif kind == "link" and hot.exists() and not (root / "user" / "hard").exists():
            os.link(hot, root / "user" / "hard")
        else:
            return self._user.edit(dice, scan(str(root), Contents()), frozenset())
        return kind

    async def hang_up(self, who: str) -> str:
        """A client goes, and comes again."""
        await self._clients[who].hang_up()
        await self._connect(who)
        return "hung up"

    async def reopen(self) -> str:
        """All clients close the folder, and open it again."""
        for who in WHO:
            await self._clients[who].hang_up()
        for who in WHO:
            await self._connect(who)
        return "reopened"

    async def kill(self) -> str:
        """The daemon is killed, and another one starts."""
        await self.daemon.kill()
        for who in WHO:
            self._clients[who].close()
        self._tape.new_life()
        await self.daemon.start()
        for who in WHO:
            await self._connect(who)
        self._since = None
        return "killed"

    # -- what is to be seen

    async def told(self) -> str:
        """The notifications since this was last asked, of which the protocol promises when they come."""
        if self._since is None:
            # what an opened folder tells first is not to be asked for
            answer = await self._clients["tool"].ask("snapshot/events", {"since": 0})
        else:
            answer = await self._clients["tool"].ask("snapshot/events", {"since": self._since})
        rows = ["reset"] if "reset" in answer else []
        for event in answer.get("events", ()):
            method, params = event["method"], event["params"]
            self._tape.compare(self.uri, params["seq"], method, params)
            if method not in _PACED:
                said = {name: value for name, value in params.items() if name != "seq"}
                rows.append(f"{method} {self._names.told(method, said)}")
        self._since = answer["latest"]
        self._tape.diary.check()
        return "\n".join(rows)

    def files(self) -> str:
        """All that is in the folder but git's own, a line each."""
        rows = []
        for above, directories, names in os.walk(self.root):
            if ".git" in directories:
                directories.remove(".git")
            for name in (*directories, *names):
                path = os.path.join(above, name)
                status = os.lstat(path)
                what = ""
                if stat.S_ISLNK(status.st_mode):
                    what = os.readlink(path)
                elif stat.S_ISREG(status.st_mode):
                    what = hashlib.sha1(Path(path).read_bytes()).hexdigest()
                rows.append(f"{status.st_mode:o} {status.st_nlink} {os.path.relpath(path, self.root)!a} {what}")
        return "\n".join(sorted(rows))

    def git(self) -> str:
        """What git finds in the store: references, commits, and all other objects that they lead to."""

        def run(*arguments: str, said: str = "") -> list[str]:
            return run_git(self.store, "--git-dir=.", *arguments, input=said.encode()).decode().splitlines()

        rows = []
        if "git.refs" not in self._ignored:
            found = run("for-each-ref", "--format=%(objecttype) %(refname)")
            rows += sorted(re.sub(r"(?<=/sessions/)[0-9a-f]{16}", "<session>", row) for row in found)
        reached = run("rev-list", "--objects", "--no-object-names", "--all")
        objects = run("cat-file", "--batch-check", said="\n".join(reached) + "\n")
        if "git.objects" not in self._ignored:
            rows += sorted(row for row in objects if " commit " not in row)
        if "git.commits" not in self._ignored:
            found = run("log", "--all", "--format=%x00%ct %T %B")
            rows += sorted(self._names.text(row.strip(), learns=False) for row in "\n".join(found).split("\0"))
        return "\n".join(rows)


def parsed(text: str) -> dict[str, Any]:
    """An answer as the history reads it."""
    answer: dict[str, Any] = json.loads(text)
    return answer
