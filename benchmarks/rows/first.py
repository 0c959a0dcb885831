"""The first snapshot of a tree: from the connection of a client to the hash, in a store that is new."""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from benchmarks.daemon import Daemon
from benchmarks.git_algorithm import ShadowGit
from benchmarks.measure import all_agree, in_turns
from benchmarks.peers import NAMES, available, peers
from benchmarks.projects import STATES
from benchmarks.results import Row
from benchmarks.trees import warm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Self

    from benchmarks.bench import Bench
    from benchmarks.peers import Peer


class _Fresh:
    """A daemon, a shadow repository and peers that know nothing, new ones for each repetition.

    Args:
        bench: the run.
        tree: the work tree.
        keys: of the peers.
    """

    def __init__(self, bench: Bench, tree: str, keys: Sequence[str] = ()) -> None:
        self._bench = bench
        self._tree = tree
        self._keys = keys
        self._directory = ""
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        self._stack.close()
        if self._directory:
            shutil.rmtree(self._directory)

    def renew(self, _: int) -> None:
        self._close()
        self._directory = self._bench.scratch()
        self._daemon = self._stack.enter_context(Daemon(self._directory))
        self._peers: dict[str, Peer] = {}
        for key in self._keys:
            directory = os.path.join(self._directory, key)
            os.mkdir(directory)
            # each has a server of its own, which looks at the whole tree for it
            (self._peers[key],) = self._stack.enter_context(peers(self._tree, directory, [key]))

    def snapd(self) -> str:
        return self._daemon.first_track(self._tree)

    @property
    def _shadow(self) -> ShadowGit:
        return ShadowGit(os.path.join(self._directory, "shadow.git"), self._tree)

    def git(self) -> str:
        return self._shadow.first_track()

    def seeded_git(self) -> str:
        return self._shadow.first_track(os.path.join(self._tree, ".git"))

    def peer(self, key: str) -> str:
        return self._peers[key].first_track()


def first(bench: Bench) -> Iterator[Row]:
    """The first snapshot, with and without a repository of the user's in the tree."""
    repository, aside = os.path.join(bench.tree, ".git"), os.path.join(bench.work, "project.git")
    with_git = ("first track, tree with git", bench, bench.tree)
    yield from _first("first-git", *with_git)
    yield from _first("first-seeded", *with_git, is_seeded=True, keys=available())
    os.rename(repository, aside)
    try:
        yield from _first("first-plain", "first track, tree without git", bench, bench.tree)
    finally:
        os.rename(aside, repository)


def first_of_state(name: str, bench: Bench) -> Iterator[Row]:
    """The first snapshot of a project of the same files in one of the `STATES`."""
    state = STATES[name]
    tree = os.path.join(bench.scratch(), "tree")
    state.make(bench.tree, tree)
    warm(tree)
    # of the others, a copy of the index and the objects is not all that there is to know
    keys = available() if name == "loose" else ()
    yield from _first(f"first-{name}", f"first track, {state.says}", bench, tree, keys=keys)
    shutil.rmtree(tree)


def _first(
    key: str, name: str, bench: Bench, tree: str, *, is_seeded: bool = False, keys: Sequence[str] = ()
) -> list[Row]:
    with _Fresh(bench, tree, keys) as fresh:
        git, against = (fresh.seeded_git, "a seeded shadow") if is_seeded else (fresh.git, "an empty shadow")
        sides: list[Callable[[], str]] = [fresh.snapd, git, *(partial(fresh.peer, peer) for peer in keys)]
        ours, theirs, *others = in_turns(bench.counts.heavy, fresh.renew, sides, all_agree, settle=True)
    return [
        Row(key, name, f"git add into {against}", ours, theirs),
        *(Row(f"{key}-{peer}", name, NAMES[peer], ours, one) for peer, one in zip(keys, others, strict=True)),
    ]
