"""A story: two agents and their user work in one folder, and undo their steps without harming each other.

    python clients/python/demo.py [DIR]

Works on a copy of DIR (default: this checkout), with a daemon of its own. Nothing outside a temporary directory is
written. Whatever is claimed is looked at: the demo fails where it is not so.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from snapd_client import Client

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

WAIT_SECONDS = 600.0
LEFT_OUT = shutil.ignore_patterns(".venv", "node_modules", "__pycache__", ".*_cache", ".hypothesis")

BASKET = """\
def total(prices):
    return sum(prices)


def discount(amount):
    return amount


def show(amount):
    return str(amount)
"""
ROUNDED = "    return round(sum(prices), 2)\n"
BEN_FINDS = "def discount(amount):\n    return amount\n"
BEN_WRITES = "def discount(amount):\n    return amount * 0.9\n"
COMMENT = "# All prices are in euro.\n"


def say(text: str = "") -> None:
    """Prints a line of the story."""
    print(text, flush=True)


def check(what: str, holds: bool) -> None:
    """Prints that something is true, or ends the demo."""
    if not holds:
        raise SystemExit(f"  NOT TRUE: {what}")
    say(f"  ok: {what}")


@contextmanager
def daemon() -> Iterator[None]:
    """Starts a daemon of our own by the first connection, as an editor or an agent would."""
    with Client.spawn([sys.executable, "-m", "snapd", "connect"], timeout=WAIT_SECONDS) as bridge:
        bridge.initialize([], client_name="demo")
    try:
        yield
    finally:
        subprocess.run([sys.executable, "-m", "snapd", "stop"], check=True)


class Folder:
    """The files of the folder, as everyone sees them."""

    def __init__(self, path: str) -> None:
        self.path = path

    def write(self, name: str, data: str | bytes) -> None:
        """Writes a file as editors do: under another name, then renamed."""
        path = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(f"{path}.tmp", "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
        os.rename(f"{path}.tmp", path)

    def read(self, name: str) -> str:
        """The text of a file."""
        with open(os.path.join(self.path, name), encoding="utf-8") as file:
            return file.read()

    def change(self, name: str, old: str, new: str) -> None:
        """Replaces a text that occurs once in a file."""
        text = self.read(name)
        if text.count(old) != 1:
            raise SystemExit(f"  NOT TRUE: {old!r} is once in {name}")
        self.write(name, text.replace(old, new))

    def shell(self, command: str) -> None:
        """Runs a command, which writes files without telling anybody."""
        subprocess.run(["sh", "-ec", command], cwd=self.path, check=True)

    def has(self, name: str) -> bool:
        """Whether there is such a file."""
        return os.path.exists(os.path.join(self.path, name))


class Agent:
    """A client with a session of its own, which keeps its notifications.

    Attributes:
        name: as the story calls it.
        client: its connection.
        session: the name of its session.
        steps: its steps, by their descriptions.
    """

    def __init__(self, name: str, socket: str, folder: Folder) -> None:
        self.name = name
        self.client = Client.connect(socket, timeout=WAIT_SECONDS)
        self._pushes = self.client.subscribe({"session/didChange", "snapshot/didTrack", "snapshot/didRevert"})
        self.client.initialize([folder.path], client_name=name)
        self.session = ""
        self.steps: dict[str, str] = {}

    def start(self) -> None:
        """Starts its session."""
        self.session = self.client.session_start(agent=self.name)["sessionId"]

    def step(self, tool: str, description: str, work: Callable[[], None]) -> None:
        """Works, as one step."""
        step = self.client.step_begin(self.session, tool=tool, description=description)["stepId"]
        work()
        ended = self.client.step_end(step)
        self.steps[description] = step
        say(f"  {self.name:<5} {tool:<6} {description}: {counted(ended['files'])}")

    def undo(self, description: str, **options: Any) -> Any:
        """Undoes one step."""
        began = time.perf_counter()
        outcome = self.client.session_undo(self.session, step_id=self.steps[description], **options)
        return self._report("undone", outcome, began)

    def redo(self) -> Any:
        """Redoes the step that was undone last."""
        began = time.perf_counter()
        return self._report("redone", self.client.session_redo(self.session), began)

    def received(self, last: int) -> list[tuple[str, Any]]:
        """Its notifications up to a number."""
        matches: list[tuple[str, Any]] = []
        while not matches or matches[-1][1]["seq"] < last:
            push = self._pushes.get(WAIT_SECONDS)
            if push is None:
                raise SystemExit(f"  NOT TRUE: {self.name} gets every notification")
            matches.append((push.method, push.params))
        return matches

    def _report(self, what: str, outcome: Any, began: float) -> Any:
        took = (time.perf_counter() - began) * 1000
        say(f"  {what if outcome['applied'] else 'refused'} in {took:.1f} ms: {outcomes(outcome)}")
        return outcome


def counted(files: Iterable[Any]) -> str:
    """Lists changed files with their counts."""
    parts = [
        f"{os.path.basename(file['file'])} "
        + ("(binary)" if file["binary"] else f"+{file['additions']} -{file['deletions']}")
        for file in files
    ]
    return ", ".join(parts) or "nothing"


def outcomes(outcome: Any) -> str:
    """Lists the outcomes of files."""
    parts = [
        f"{os.path.basename(file['file'])} {file['outcome']}" + (f" ({file['reason']})" if "reason" in file else "")
        for file in outcome["files"]
    ]
    return ", ".join(parts)


def log(client: Client) -> list[str]:
    """Lists the history, oldest first, one line each."""
    sessions = {session["sessionId"]: session.get("agent", "") for session in client.session_list()["sessions"]}
    descriptions: dict[str, str] = {}
    lines = []
    for entry in reversed(list(client.session_history_all())):
        if "step" in entry:
            step = entry["step"]
            descriptions[step["stepId"]] = step.get("description", "")
            state = "" if step["state"] == "applied" else f"  [{step['state']}]"
            lines.append(f"{sessions[step['sessionId']]:<6}{descriptions[step['stepId']]}{state}")
        elif entry["kind"] == "user":
            lines.append(f"{'user':<6}{counted(entry['files'])}")
        else:
            who = sessions.get(entry.get("sessionId", ""), "")
            about = ", ".join(f'"{descriptions[step]}"' for step in entry.get("steps", []))
            lines.append(f"{who:<6}{entry['kind']} {about}")
    return lines


def work(folder: Folder, ada: Agent, ben: Agent) -> None:
    """Two agents and the user work in one folder."""
    say("\nThe user writes the first files, then Ada and Ben work at the same time")
    folder.write("shop/basket.py", BASKET)
    folder.write("shop/prices.txt", "apple 1.20\npear 0.85\n")
    folder.write("shop/greeting.txt", "Welcome!\n")
    ada.start()
    ben.start()

    def scaffold() -> None:
        folder.write("shop/test_basket.py", "assert total([1, 2]) == 3\n")
        folder.write("shop/logo.png", bytes(range(256)) * 64)

    ada.step("write", "tests and a logo", scaffold)
    ada.step(
        "shell",
        "round the total",
        lambda: folder.shell(
            "cd shop; sed -i 's/return sum(prices)/return round(sum(prices), 2)/' basket.py; mv prices.txt prices.csv"
        ),
    )
    folder.write("shop/basket.py", COMMENT + folder.read("shop/basket.py"))
    say(f"  {'user':<5} {'':<6} types a line into basket.py")
    ben.step("edit", "a discount", lambda: folder.change("shop/basket.py", BEN_FINDS, BEN_WRITES))
    ada.step("edit", "greet politely", lambda: folder.write("shop/greeting.txt", "A warm welcome to you!\n"))


def take_back(folder: Folder, ada: Agent) -> None:
    """One step in the middle is undone and redone."""
    say("\nAda's second step is undone, below what the user, Ben and Ada herself have done since")
    ada.undo("round the total")
    text = folder.read("shop/basket.py")
    for at, line in enumerate(text.splitlines(), 1):
        if line.startswith(("#", "    return sum", "    return amount")):
            say(f"    basket.py, line {at:>2}: {line}")
    check("its own line is gone, prices.txt has its old name", ROUNDED not in text and folder.has("shop/prices.txt"))
    check("the user's line and Ben's are there, in the same file", text.startswith(COMMENT) and BEN_WRITES in text)
    check("Ada's other steps stand", folder.has("shop/logo.png") and "warm" in folder.read("shop/greeting.txt"))
    say("\nOn second thoughts, it was right: it is redone")
    ada.redo()
    again = text.replace("    return sum(prices)\n", ROUNDED)
    check("the file has all three of them", folder.read("shop/basket.py") == again and folder.has("shop/prices.csv"))


def disagree(folder: Folder, ada: Agent) -> None:
    """What cannot be merged is reported, and somebody chooses."""
    say("\nThe user rewrites Ada's greeting. Then her third step is to be undone, if that harms nobody")
    folder.write("shop/greeting.txt", "Moin!\n")
    refused = ada.undo("greet politely", on_conflict="fail")
    stands = folder.read("shop/greeting.txt") == "Moin!\n"
    check("nothing was written, and the user's words stand", not refused["applied"] and stands)
    say("  The user is asked, and chooses the text from before that step")
    outcome = ada.undo("greet politely", on_conflict="overwrite")
    check("it is the text from before", folder.read("shop/greeting.txt") == "Welcome!\n")
    kept = ada.client.file_at(outcome["before"], "shop/greeting.txt")["content"]
    check(f"and snapshot {outcome['before'][:10]} still has what the user wrote", kept == "Moin!\n")


def compare(ada: Agent, ben: Agent) -> None:
    """Both got the same notifications, which they can fetch again."""
    say("\nBoth clients were notified of everything as it happened")
    latest = ada.client.events(0)["latest"]
    received, text = ada.received(latest), ben.received(latest)
    again = ben.client.events(received[0][1]["seq"] - 1).get("events", [])
    check(f"{len(received)} notifications, the same for both, in the same order", received == text)
    check(
        "who was not there can have them all again",
        [(event["method"], event["params"]) for event in again if event["method"] != "snapshot/didChange"] == received,
    )


def after_restart(folder: Folder, ada: Agent, ben: Agent, before: list[str]) -> None:
    """A new daemon knows everything that happened before it started."""
    say("\nThe daemon stops, and another one starts. It knows what happened:")
    ada.client.reconnect()
    ben.client.reconnect()
    lines = log(ben.client)
    for line in lines:
        say(f"    {line}")
    check("that is what the first one told", lines == before)
    say("\nBen undoes his step, too")
    ben.undo("a discount")
    text = COMMENT + BASKET.replace("    return sum(prices)\n", ROUNDED)
    check("the user's line and Ada's stand, and only Ben's is gone", folder.read("shop/basket.py") == text)


def browse(folder: Folder, stepped: int) -> None:
    """The page in the browser shows the same folder."""
    say("\nThe user opens the page in the browser")
    command = [sys.executable, "-m", "snapd", "web", "-C", folder.path, "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            printed = json.loads(server.stdout.readline() if server.stdout else "")
            connection = http.client.HTTPConnection(urlsplit(printed["url"]).netloc, timeout=WAIT_SECONDS)
            connection.request("GET", "/session", headers={"Authorization": f"Bearer {printed['token']}"})
            sessions = json.load(connection.getresponse())["sessions"]
            connection.close()
        finally:
            server.terminate()
    check(f"it lists the {stepped} steps of both agents", sum(each["stepCount"] for each in sessions) == stepped)


def run(scratch: str, folder: Folder) -> None:
    """The part of the story during which daemons run."""
    socket = os.path.join(scratch, "run", "daemon.sock")
    os.environ["SNAPD_DATA_DIR"] = os.path.join(scratch, "data")
    os.environ["SNAPD_RUNTIME_DIR"] = os.path.dirname(socket)
    with daemon():
        ada, ben = Agent("Ada", socket, folder), Agent("Ben", socket, folder)
        began = time.perf_counter()
        start = ada.client.track()["hash"]
        if start is None:
            raise SystemExit("the settings turn snapshots off; the demo needs them on")
        took = (time.perf_counter() - began) * 1000
        say(f"  first snapshot: {ada.client.status()['files']} files, {took:.1f} ms")
        work(folder, ada, ben)
        take_back(folder, ada)
        disagree(folder, ada)
        compare(ada, ben)
        browse(folder, len(ada.steps) + len(ben.steps))
        before = log(ada.client)
    with daemon():
        after_restart(folder, ada, ben, before)
        say("\nThe user wants the folder back as it was before all this")
        outcome = ada.client.restore(start)
        check("it is the first snapshot again", outcome["after"] == start)
        check(
            f"and snapshot {outcome['before'][:10]} has everything that was there",
            ada.client.file_exists(outcome["before"], "shop/logo.png")["exists"],
        )
        ada.client.close()
        ben.client.close()


def fingerprint(folder: str, *, git: bool) -> str:
    """A digest of names, modes and bytes of all files, either of `.git` or of the work tree."""
    digest = hashlib.sha256()
    for directory, names, files in os.walk(folder):
        inside = ".git" in os.path.relpath(directory, folder).split(os.sep)
        names[:] = sorted(name for name in names if git or name != ".git")
        for name in sorted(files):
            if inside != git:
                continue
            path = os.path.join(directory, name)
            status = os.lstat(path)
            stamp = status.st_mtime_ns if git else 0
            digest.update(f"{path}\0{status.st_mode}\0{status.st_size}\0{stamp}\0".encode("utf-8", "surrogateescape"))
            if os.path.islink(path):
                digest.update(os.fsencode(os.readlink(path)))
            else:
                with open(path, "rb") as file:
                    digest.update(file.read())
    return digest.hexdigest()


def git(folder: str, *arguments: str) -> str:
    """Runs git without letting it write, and returns its output."""
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=environment, capture_output=True, text=True, errors="replace", check=True
    )
    return done.stdout


def main(source: str) -> None:
    """Tells the story."""
    with tempfile.TemporaryDirectory(prefix="snapd-demo-") as scratch:
        folder = os.path.join(os.path.realpath(scratch), "work")
        say(f"A copy of {os.path.abspath(source)}, a daemon, and two clients: the agents Ada and Ben")
        shutil.copytree(source, folder, symlinks=True, ignore=LEFT_OUT)
        if os.path.lexists(os.path.join(folder, "shop")):
            raise SystemExit(f"the demo makes a folder named shop, but {source} already has one; choose another folder")
        has_git = os.path.exists(os.path.join(folder, ".git"))
        status = git(folder, "status", "--porcelain") if has_git else ""
        changed = git(folder, "diff", "HEAD") if has_git else ""
        files, repository = fingerprint(folder, git=False), fingerprint(folder, git=True)
        run(scratch, Folder(folder))
        if has_git:
            # first: `git diff` itself refreshes the index
            check(".git was never written", fingerprint(folder, git=True) == repository)
        check("every file has its name, mode and bytes again", fingerprint(folder, git=False) == files)
        if has_git:
            check("git status says what it said before", git(folder, "status", "--porcelain") == status)
            check("git diff says what it said before", git(folder, "diff", "HEAD") == changed)
    say("\n'snapd web --open' shows any folder in the browser, at http://127.0.0.1:7627")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else ".")
