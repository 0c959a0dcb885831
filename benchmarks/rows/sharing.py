"""Sessions to a git host and from there, beside a branch with the same content: seconds, and bytes on the line."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from benchmarks.crowd import Member, Project, create_remote, populate
from benchmarks.git_algorithm import run_git
from benchmarks.git_host import GitHost
from benchmarks.measure import Samples, agree, timed
from benchmarks.results import Row
from snapd.store.timeline.chain import chain_of_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.bench import Bench, Pair

_STEPS = 100
_BEGAN = 1_780_000_000_000


class Sharer:
    """A session of one-line steps, and a branch of the project with a commit for each of them.

    Args:
        pair: a daemon and the tree, a git project.
        directory: an empty one, for the remotes.
        host: serves it.
    """

    def __init__(self, pair: Pair, directory: str, host: GitHost) -> None:
        self._pair = pair
        self._host = host
        # other rows have changed files; a push carries what no commit of the project has
        run_git(["checkout", "--quiet", "--force", "HEAD"], pair.tree)
        run_git(["clean", "--quiet", "-d", "--force"], pair.tree)
        pair.track()
        self.session = pair.client.request("session/start", {"agent": "bench"})["sessionId"]
        git = os.path.join(pair.tree, ".git")
        self._clone = os.path.join(directory, "clone.git")
        # a repository of its own, with an index that knows the files: the project itself gets no commits
        subprocess.run(["cp", "-a", git, self._clone], check=True)
        for name in ("snapd.git", "branch.git"):
            run_git(["clone", "--quiet", "--bare", git, name], directory)
            run_git(["config", "http.receivepack", "true"], os.path.join(directory, name))
        # what a clone of the project knows: that the remote has its commits
        self._git("update-ref", "refs/remotes/origin/main", "HEAD")

    def step(self) -> None:
        """A step that appends a line to one file, and the same as a commit."""
        request = self._pair.client.request
        step = request("step/begin", {"sessionId": self.session, "tool": "Edit"})["stepId"]
        (file,) = self._pair.editor.edit()
        request("step/end", {"stepId": step, "files": [file]})
        self._git("--literal-pathspecs", "add", "--", file)
        self._git("commit", "--quiet", "--message=step")

    def push(self) -> dict[str, tuple[float, float]]:
        """Pushes both: seconds and bytes of each."""
        address = self._host.address("snapd.git")
        with_snapd = self._measured(lambda: self._pair.client.session_push(address, [self.session]))
        branch = self._host.address("branch.git")
        with_git = self._measured(lambda: self._git("push", "--quiet", branch, "HEAD:refs/heads/steps"))
        return {"snapd": with_snapd, "git": with_git}

    def _measured(self, work: Callable[[], object]) -> tuple[float, float]:
        before = self._host.received + self._host.sent
        seconds, _ = timed(work)
        return seconds, self._host.received + self._host.sent - before

    def _git(self, *words: str) -> None:
        where = [f"--git-dir={self._clone}", f"--work-tree={self._pair.tree}", "-c", "gc.auto=0"]
        run_git([*where, *words], self._pair.tree)


def push(bench: Bench) -> Iterator[Row]:
    """Pushes of one step, of a hundred one by one and at once, and a first one; the remote has the project."""
    pair = bench.pair()
    directory = bench.scratch()
    with GitHost(directory).running() as host:
        sharer = Sharer(pair, directory, host)
        for _ in range(3):
            sharer.step()
        yield from _rows("push-first", "first push of a session of 3 steps", [sharer.push()])
        singles = []
        for _ in range(_STEPS):
            sharer.step()
            singles.append(sharer.push())
        yield from _rows("push-one", f"push of one more step ({_STEPS} of them)", singles)
        total = {
            side: (sum(each[side][0] for each in singles), sum(each[side][1] for each in singles))
            for side in ("snapd", "git")
        }
        yield from _rows("push-each", f"{_STEPS} steps, pushed one by one, together", [total])
        for _ in range(_STEPS):
            sharer.step()
        yield from _rows("push-many", f"push of {_STEPS} steps at once", [sharer.push()])
    pair.client.request("session/end", {"sessionId": sharer.session})


def fetch(bench: Bench) -> Iterator[Row]:
    """One session of 10,000 that a remote has, beside git with the same reference; neither has the project."""
    pair = bench.pair()
    directory = bench.scratch()
    project = Project()
    remote = os.path.join(directory, "crowd.git")
    create_remote(remote, project)
    many = bench.counts.sessions
    populate(remote, project, (Member(number, f"machine-{number % 50}.example.com", _BEGAN) for number in range(many)))
    run_git(["gc", "--quiet"], remote)
    sides: dict[str, list[tuple[float, float]]] = {"snapd": [], "git": []}
    with GitHost(directory).running() as host:
        address = host.address("crowd.git")
        for number in range(bench.counts.heavy):
            wanted = Member(many // 2 + number, "", 0).session_id
            reference = chain_of_session(wanted)
            clone = os.path.join(directory, f"clone-{number}.git")
            run_git(["init", "--quiet", "--bare", clone], directory)

            def with_snapd(wanted: str = wanted) -> None:
                (session,) = pair.client.session_fetch(address, [wanted])["sessions"]
                agree(session["sessionId"], wanted)

            def with_git(reference: str = reference, clone: str = clone) -> None:
                run_git(["fetch", "--quiet", address, f"{reference}:{reference}"], clone)

            for side, work in (("snapd", with_snapd), ("git", with_git)):
                before = host.received + host.sent
                seconds, _ = timed(work)
                sides[side].append((seconds, host.received + host.sent - before))
    measured = [{side: sides[side][at] for side in sides} for at in range(bench.counts.heavy)]
    yield from _rows("fetch-one", f"fetch of one session among {many:,}", measured, "git fetch of the same reference")


def _rows(
    key: str, name: str, measured: list[dict[str, tuple[float, float]]], against: str = "git push of a branch"
) -> Iterator[Row]:
    for at, unit, what in ((0, "s", "seconds"), (1, "B", "bytes")):
        ours, theirs = (Samples(unit, tuple(each[side][at] for each in measured)) for side in ("snapd", "git"))
        yield Row(f"{key}-{what}", f"{name}: {what}", against, ours, theirs)
