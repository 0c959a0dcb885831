"""What a git host has to carry when many machines push their sessions to it: `python -m benchmarks.scale --help`.

A remote gets as many sessions as some days of 1,000 machines make (`crowd.py`). Then each thing that a machine does
with it is measured, on the remote as a folder and behind `git http-backend`. `docs/scale.md` quotes a full run.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, TypeVar

from snapd.store.timeline.chain import SESSIONS, chain_of_session

from .crowd import DAY, Member, Project, create_remote, populate
from .daemon import Daemon
from .git_algorithm import run_git
from .git_host import GitHost
from .machine import facts
from .measure import agree, timed
from .rows.storage import disk_use
from .table import quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from snapd_client import Client

T = TypeVar("T")

MACHINES = 1000
A_DAY = 10_000
_SESSION = "here"


class Scale:
    """One remote with many sessions, and what is measured of it.

    Args:
        directory: an empty one.
        references: how many sessions the remote has.
        host: serves it.
        client: of a folder.
        tree: the folder.
    """

    def __init__(self, directory: str, references: int, host: GitHost, client: Client, tree: str) -> None:
        self.measured: list[tuple[str, str, float | None, float | None]] = []
        self._references = references
        self._remote = os.path.join(directory, f"remote-{references}.git")
        self._scratch = directory
        self._host = host
        self._client = client
        self._tree = tree
        self._project = Project()
        # the last day of them is today
        self._now = time.time_ns() // 1_000_000

    def run(self) -> None:
        """Measures all of it."""
        create_remote(self._remote, self._project)
        run_git(["config", "http.receivepack", "true"], self._remote)
        run_git(["config", "uploadpack.allowFilter", "true"], self._remote)
        populate(self._remote, self._project, map(self._member, range(self._references)))
        self._note("folder", "packed-refs", size=os.path.getsize(os.path.join(self._remote, "packed-refs")))
        self._note("folder", "objects before git gc", size=self._objects())
        self._timed("folder", "git gc", lambda: run_git(["gc", "--quiet"], self._remote))
        self._note("folder", "objects after git gc", size=self._objects())
        for where, address in (("folder", self._remote), ("http", self._host.address(os.path.basename(self._remote)))):
            self._asking(where, address)
            self._fetching(where, address)
            self._pushing(where, address)
        self._pruning("http", self._host.address(os.path.basename(self._remote)))
        self._timed("folder", "git gc after that", lambda: run_git(["gc", "--quiet", "--prune=now"], self._remote))
        self._note("folder", "objects after that", size=self._objects())

    def _asking(self, where: str, address: str) -> None:
        member = self._member(self._references // 2)
        name = chain_of_session(member.session_id)
        heads = ["ls-remote", "--heads", address]
        self._timed(where, "ls-remote of the branches", lambda: run_git(heads, self._scratch))
        words = ["ls-remote", address, f"{name[: len(SESSIONS) + 2]}*"]
        self._timed(where, "ls-remote of the sessions with two digits", lambda: run_git(words, self._scratch))

    def _fetching(self, where: str, address: str) -> None:
        wanted = self._member(self._references // 2 + (where == "http")).session_id

        def fetch() -> None:
            (session,) = self._client.session_fetch(address, [wanted])["sessions"]
            agree(session["sessionId"], wanted)

        self._timed(where, "fetch of one session", fetch)
        self._timed(where, "fetch of it again", lambda: self._client.session_fetch(address, [wanted]))

    def _pushing(self, where: str, address: str) -> None:
        session = f"{_SESSION}-{where}"
        self._client.request("session/start", {"sessionId": session, "agent": "bench"})
        for name in ("push of a new session of one step", "push of one more step"):
            step = self._client.request("step/begin", {"sessionId": session})["stepId"]
            with open(os.path.join(self._tree, "d00", "f00.txt"), "ab") as file:
                file.write(f"{where} {name}\n".encode())
            self._client.request("step/end", {"stepId": step})
            self._timed(where, name, lambda: self._client.session_push(address, [session]))
        self._timed(where, "deleting it there", lambda: self._client.session_push(address, [session], delete=True))

    def _pruning(self, where: str, address: str) -> None:
        days = self._references / A_DAY * 0.9
        plan = self._timed(
            where,
            "push --prune --all --dry-run",
            lambda: self._client.session_push(address, prune=True, older_than_days=days, all_=True, dry_run=True),
        )
        name = f"push --prune --all, a tenth of them ({len(plan['pruned']):,})"
        done = self._timed(
            where, name, lambda: self._client.session_push(address, prune=True, older_than_days=days, all_=True)
        )
        left = run_git(["for-each-ref", "--format=%(refname)", SESSIONS], self._remote)
        agree(len(left.splitlines()), self._references - len(done["pruned"]))

    def _member(self, number: int) -> Member:
        age = (self._references - number) * DAY // A_DAY
        return Member(number, f"machine-{number % MACHINES}.example.com", self._now - age)

    def _objects(self) -> int:
        return disk_use(os.path.join(self._remote, "objects"))["apparent"]

    def _timed(self, where: str, what: str, work: Callable[[], T]) -> T:
        before = self._host.received + self._host.sent
        seconds, result = timed(work)
        size = self._host.received + self._host.sent - before
        self._note(where, what, seconds, size if where == "http" else None)
        return result

    def _note(self, where: str, what: str, seconds: float | None = None, size: float | None = None) -> None:
        self.measured.append((where, what, seconds, size))
        print(f"  {self._references:,}: {_line((where, what, seconds, size))}", file=sys.stderr, flush=True)


def many_fetched(
    directory: str, client: Client, sessions: int
) -> Iterator[tuple[str, str, float | None, float | None]]:
    """What a machine pays that has fetched many sessions."""
    remote, project = os.path.join(directory, "fetched.git"), Project()
    create_remote(remote, project)
    began = time.time_ns() // 1_000_000
    populate(remote, project, (Member(at, f"machine-{at % MACHINES}.example.com", began) for at in range(sessions)))
    seconds, _ = timed(lambda: client.session_fetch(remote))
    yield "machine", f"fetch of all {sessions:,}", seconds, None
    seconds, _ = timed(lambda: client.request("session/list", {"limit": 100}))
    yield "machine", "session/list, a page of 100", seconds, None
    step = Member(sessions // 2, "", 0).step_id
    seconds, found_steps = timed(lambda: client.step_find(step[:10]))
    agree([each["stepId"] for each in found_steps["steps"]], [step])
    yield "machine", "step/find of one step", seconds, None
    seconds, _ = timed(lambda: client.session_fetch(remote, [Member(3, "", 0).session_id]))
    yield "machine", "fetch of one of them again", seconds, None


def main(arguments: Sequence[str]) -> int:
    """Measures, prints the table and writes the JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description="many sessions at one git host")
    parser.add_argument("--references", default="1000,3000", help="how many sessions the remote has (%(default)s)")
    parser.add_argument(
        "--fetched", type=int, default=1000, help="how many sessions a machine has fetched (%(default)s)"
    )
    parser.add_argument("--output", help="a file for the JSON")
    options = parser.parse_args(arguments)
    work = os.path.realpath(tempfile.mkdtemp(prefix="snapd-scale-"))
    run: dict[str, Any] = {"machine": facts(work), "reftable": _has_reftable(work)}
    try:
        for references in map(int, options.references.split(",")):
            with ExitStack() as stack:
                client, tree = _machine(stack, work)
                host = stack.enter_context(GitHost(work).running())
                scale = Scale(work, references, host, client, tree)
                scale.run()
                run[str(references)] = scale.measured
                shutil.rmtree(os.path.join(work, f"remote-{references}.git"))
        with ExitStack() as stack:
            client, _ = _machine(stack, work)
            run["fetched"] = list(many_fetched(work, client, options.fetched))
    finally:
        shutil.rmtree(work)
    print(table(run))
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            file.write(json.dumps(run, indent=1) + "\n")
    return 0


def table(run: dict[str, Any]) -> str:
    """The figures in Markdown: a column for each number of references."""
    counts = [key for key in run if key.isdigit()]
    by_count: dict[str, dict[tuple[str, str], str]] = {}
    for key in (*counts, "fetched"):
        by_count[key] = {(each[0], _without_count(each[1])): _figures(each[2], each[3]) for each in run[key]}
    lines = [f"| where | what | {' | '.join(f'{int(count):,} sessions' for count in counts)} |"]
    lines.append("|---" * (len(counts) + 2) + "|")
    for where, what in by_count[counts[0]]:
        cells = [by_count[count].get((where, what), "") for count in counts]
        lines.append(f"| {where} | {what} | {' | '.join(cells)} |")
    lines += ["", "| machine with many fetched sessions | |", "|---|---|"]
    lines += [f"| {what} | {figures} |" for (_, what), figures in by_count["fetched"].items()]
    return "\n".join(lines)


def _machine(stack: ExitStack, work: str) -> tuple[Client, str]:
    """A daemon of its own, with a folder that has the files of the crowd's project."""
    directory = tempfile.mkdtemp(dir=work)
    tree = os.path.join(directory, "tree")
    project = Project()
    remote = os.path.join(directory, "project.git")
    create_remote(remote, project)
    run_git(["clone", "--quiet", remote, tree], directory)
    daemon = stack.enter_context(Daemon(os.path.join(directory, "d")))
    return stack.enter_context(daemon.connect(tree)), tree


def _has_reftable(work: str) -> bool:
    """Whether this git can keep references in another way than as files (since 2.45)."""
    words = ["git", "init", "--quiet", "--bare", "--ref-format=reftable", os.path.join(work, "reftable.git")]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def _without_count(what: str) -> str:
    return what.partition(" (")[0]


def _figures(seconds: float | None, size: float | None) -> str:
    parts = [] if seconds is None else [quantity(seconds, "s")]
    return ", ".join([*parts, *([] if size is None else [quantity(size, "B")])])


def _line(measured: tuple[str, str, float | None, float | None]) -> str:
    where, what, seconds, size = measured
    return f"{where}: {what}: {_figures(seconds, size)}"


if __name__ == "__main__":
    # who ends us has daemons ended and directories removed all the same
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main(sys.argv[1:]))
