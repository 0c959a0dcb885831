"""The first snapshot of a tree: from the connection of a client to the hash, in a store that is new."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from benchmarks.daemon import Daemon
from benchmarks.git_algorithm import ShadowGit
from benchmarks.measure import alternate
from benchmarks.projects import STATES
from benchmarks.results import Row
from benchmarks.trees import warm

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from benchmarks.bench import Bench


class _Fresh:
    """A daemon and a shadow repository that know nothing, new ones for each repetition."""

    def __init__(self, bench: Bench, tree: str) -> None:
        self._bench = bench
        self._tree = tree
        self._directory = ""
        self._daemon: Daemon | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        if self._daemon is not None:
            self._daemon.stop()
            shutil.rmtree(self._directory)

    def renew(self, _: int) -> None:
        self._close()
        self._directory = self._bench.scratch()
        self._daemon = Daemon(self._directory)
        self._daemon.start()

    def snapd(self) -> str:
        assert self._daemon is not None
        return self._daemon.first_track(self._tree)

    @property
    def _shadow(self) -> ShadowGit:
        return ShadowGit(os.path.join(self._directory, "shadow.git"), self._tree)

    def git(self) -> str:
        return self._shadow.first_track()

    def seeded_git(self) -> str:
        return self._shadow.seeded_first_track(os.path.join(self._tree, ".git"))


def first(bench: Bench) -> Iterator[Row]:
    """The first snapshot, with and without a repository of the user's in the tree."""
    count = bench.counts.heavy
    repository, aside = os.path.join(bench.tree, ".git"), os.path.join(bench.work, "project.git")
    with _Fresh(bench, bench.tree) as fresh:
        snapd, git = alternate(count, fresh.renew, fresh.snapd, fresh.git, settle=True)
        yield Row("first-git", "first track, tree with git", "git add into an empty shadow", snapd, git)
        snapd, git = alternate(count, fresh.renew, fresh.snapd, fresh.seeded_git, settle=True)
        yield Row("first-seeded", "first track, tree with git", "git add into a seeded shadow", snapd, git)
        os.rename(repository, aside)
        try:
            snapd, git = alternate(count, fresh.renew, fresh.snapd, fresh.git, settle=True)
        finally:
            os.rename(aside, repository)
        yield Row("first-plain", "first track, tree without git", "git add into an empty shadow", snapd, git)


def first_of_state(name: str, bench: Bench) -> Iterator[Row]:
    """The first snapshot of a project of the same files in one of the `STATES`."""
    state = STATES[name]
    tree = os.path.join(bench.scratch(), "tree")
    state.make(bench.tree, tree)
    warm(tree)
    with _Fresh(bench, tree) as fresh:
        snapd, git = alternate(bench.counts.heavy, fresh.renew, fresh.snapd, fresh.git, settle=True)
    shutil.rmtree(tree)
    yield Row(f"first-{name}", f"first track, {state.says}", "git add into an empty shadow", snapd, git)
