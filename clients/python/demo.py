"""The main job as two clients see it: an agent works in a folder, an editor shows each step, and all of it is undone.

    python clients/python/demo.py [DIR]

Works on a copy of DIR (default: this checkout), with a daemon of its own. Nothing outside a temporary directory is
written.
"""

from __future__ import annotations

import hashlib
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from snapd_client import Client

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WAIT_SECONDS = 600.0
LEFT_OUT = shutil.ignore_patterns(".venv", "node_modules", "__pycache__", ".*_cache", ".hypothesis")


def say(text: str = "") -> None:
    """One line of the story."""
    print(text, flush=True)


@contextmanager
def daemon(scratch: str) -> Iterator[str]:
    """A daemon of our own, on a socket of its own."""
    socket = os.path.join(scratch, "run", "daemon.sock")
    os.environ["SNAPD_DATA_DIR"] = os.path.join(scratch, "data")
    os.environ["SNAPD_RUNTIME_DIR"] = os.path.dirname(socket)
    # the first to connect starts it, as an editor or an agent would
    bridge = Client.spawn([sys.executable, "-m", "snapd", "connect"], timeout=WAIT_SECONDS)
    try:
        bridge.initialize([], client_name="demo")
        yield socket
    finally:
        bridge.close()
        subprocess.run([sys.executable, "-m", "snapd", "stop"], check=True)


class Editor:
    """The second client: it is told of each step by notification, and asks for each file before and after."""

    def __init__(self, socket: str, folder: str) -> None:
        self._client = Client.connect(socket, timeout=WAIT_SECONDS)
        self._pushes = self._client.subscribe({"snapshot/didTrack", "snapshot/didRevert"})
        self._client.initialize([folder], client_name="demo-editor")
        self._client.status()
        self._shown: queue.Queue[list[str]] = queue.Queue()
        threading.Thread(target=self._follow, daemon=True).start()

    def show(self) -> None:
        """Prints what the editor made of the next notification."""
        for line in self._shown.get(timeout=WAIT_SECONDS):
            say(f"    {line}")

    def close(self) -> None:
        """Disconnects."""
        self._client.close()

    def _follow(self) -> None:
        for push in self._pushes:
            try:
                self._shown.put(self._render(push.method, push.params))
            except Exception as error:
                self._shown.put([f"the editor failed: {error!r}"])

    def _render(self, method: str, params: dict[str, Any]) -> list[str]:
        if method == "snapshot/didRevert":
            counts: dict[str, int] = {}
            for file in params["files"]:
                counts[file["outcome"]] = counts.get(file["outcome"], 0) + 1
            outcome = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
            return [f"editor got #{params['seq']} {method} ({params['kind']}): {outcome}"]
        lines = [f"editor got #{params['seq']} {method} {params['hash'][:10]}"]
        if "previous" in params:
            for diff in self._client.diff_full_all(params["previous"], params["hash"], renames=True):
                lines += render(diff)
        return lines


def render(diff: Any) -> list[str]:
    """A file before and after, as far as a terminal has room for it."""
    name = f"{diff['renamedFrom']} -> {diff['file']}" if "renamedFrom" in diff else diff["file"]
    head = f"  {diff['status']:<8} {name}  +{diff['additions']} -{diff['deletions']}"
    if diff["binary"]:
        return [f"{head}  (binary)"]
    before, after = diff["before"].splitlines(), diff["after"].splitlines()
    at = next((at for at, (old, new) in enumerate(zip(before, after, strict=False)) if old != new), None)
    if at is None:
        at = min(len(before), len(after))
    lines = [head]
    if at < len(before):
        lines.append(f"           before, line {at + 1}: {before[at][:70]}")
    if at < len(after):
        lines.append(f"           after,  line {at + 1}: {after[at][:70]}")
    return lines


class Agent:
    """The first client: it takes a snapshot, works, and takes another."""

    def __init__(self, folder: str, names: list[str]) -> None:
        self._folder = folder
        texts = [name for name in names if self._is_text(name)]
        if len(texts) < 6:
            raise SystemExit(f"the demo needs six small text files in {folder}")
        self._edited, self._deleted, self._renamed, *rest = texts
        self._swept = rest[:3]

    def _is_text(self, name: str) -> bool:
        path = os.path.join(self._folder, name)
        if os.path.islink(path) or not 64 <= os.path.getsize(path) <= 100_000 or os.path.basename(name).startswith("."):
            return False
        with open(path, "rb") as file:
            return b"\0" not in file.read()

    @property
    def steps(self) -> dict[str, Callable[[], None]]:
        """What it does, in order."""
        return {
            f"edits {self._edited} and saves as editors do, by rename": self._edit,
            "runs a shell command over several files": self._sweep,
            "adds a file, deletes one, renames one": self._move,
            "writes a binary": self._draw,
        }

    def _edit(self) -> None:
        path = os.path.join(self._folder, self._edited)
        with open(path, "rb") as file:
            lines = file.read().splitlines(keepends=True)
        lines.insert(len(lines) // 2, b"an agent was here\n")
        with open(f"{path}.tmp", "wb") as file:
            file.writelines(lines)
        shutil.copymode(path, f"{path}.tmp")
        os.rename(f"{path}.tmp", path)

    def _sweep(self) -> None:
        subprocess.run(["sed", "-i", "1s/^/swept: /", "--", *self._swept], cwd=self._folder, check=True)

    def _move(self) -> None:
        with open(os.path.join(self._folder, "made-by-agent.txt"), "w", encoding="utf-8") as file:
            file.write("new\n" * 3)
        os.remove(os.path.join(self._folder, self._deleted))
        source = os.path.join(self._folder, self._renamed)
        os.rename(source, os.path.join(os.path.dirname(source), "renamed-" + os.path.basename(source)))

    def _draw(self) -> None:
        with open(os.path.join(self._folder, "picture.png"), "wb") as file:
            file.write(bytes(range(256)) * 64)


def fingerprint(folder: str, *, git: bool) -> str:
    """A digest of names, modes and bytes of all files: those of `.git` alone, or those of the work tree alone."""
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
    """What git says, without letting it write."""
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=environment, capture_output=True, text=True, errors="replace", check=True
    )
    return done.stdout


def timed(what: str, work: Callable[[], Any]) -> Any:
    """Does it and says how long it took."""
    began = time.perf_counter()
    result = work()
    say(f"  {what}: {(time.perf_counter() - began) * 1000:.1f} ms")
    return result


def main(source: str) -> None:
    """Tells the story."""
    with tempfile.TemporaryDirectory(prefix="snapd-demo-") as scratch:
        folder = os.path.join(os.path.realpath(scratch), "work")
        say(f"A copy of {os.path.abspath(source)}")
        shutil.copytree(source, folder, symlinks=True, ignore=LEFT_OUT)
        has_git = os.path.exists(os.path.join(folder, ".git"))
        status = git(folder, "status", "--porcelain") if has_git else ""
        changed = git(folder, "diff", "HEAD") if has_git else ""
        files, repository = fingerprint(folder, git=False), fingerprint(folder, git=True)
        with daemon(scratch) as socket:
            run(socket, folder)
        say("\nProof")
        if has_git:
            # first: `git diff` itself refreshes the index
            check(".git was never written", fingerprint(folder, git=True) == repository)
        check("every file has its name, mode and bytes again", fingerprint(folder, git=False) == files)
        if has_git:
            check("git status says what it said before", git(folder, "status", "--porcelain") == status)
            check("git diff says what it said before", git(folder, "diff", "HEAD") == changed)


def run(socket: str, folder: str) -> None:
    """What happens while the daemon runs."""
    client = Client.connect(socket, timeout=WAIT_SECONDS)
    client.initialize([folder], client_name="demo-agent")
    editor = Editor(socket, folder)
    say("\nThe agent connects and takes a snapshot")
    start = timed("first snapshot", client.track)["hash"]
    editor.show()
    say(f"  {client.status()['files']} files captured")
    agent = Agent(folder, list(client.list_files(start)))
    hashes = [start]
    for number, (title, step) in enumerate(agent.steps.items(), 1):
        say(f"\nStep {number}: the agent {title}")
        step()
        hashes.append(timed("snapshot", client.track)["hash"])
        editor.show()
    say("\nThe user takes back step 2 alone")
    patch = client.patch(hashes[1], hashes[2])
    say(f"  {len(patch['files'])} files of that step: {', '.join(os.path.relpath(f, folder) for f in patch['files'])}")
    timed("revert", lambda: client.revert([patch]))
    editor.show()
    left = client.diff_full(start, contents=False)["diffs"]
    say(f"  still changed since the start: {', '.join(diff['file'] for diff in left)}")
    check("the files of step 2 are as they were", not {diff["file"] for diff in left} & names(folder, patch))
    say("\nThe user takes back everything")
    outcome = timed("restore", lambda: client.restore(start))
    editor.show()
    check("the work tree is the first snapshot", outcome["after"] == start)
    say(f"  and {outcome['before'][:10]} still has what was there before")
    editor.close()
    client.close()


def names(folder: str, patch: Any) -> set[str]:
    """The files of a patch, relative to the folder."""
    return {os.path.relpath(file, folder) for file in patch["files"]}


def check(what: str, holds: bool) -> None:
    """Says that something holds, or ends the demo."""
    if not holds:
        raise SystemExit(f"  NOT TRUE: {what}")
    say(f"  ok: {what}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else ".")
