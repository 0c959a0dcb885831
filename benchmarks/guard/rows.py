"""What the rows of the benchmark do, in a small folder: each scenario prepares, and gives the work to be counted."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

from .place import Place, project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Scenario = Callable[[str], Iterator["Job"]]

FILES = 300
CHANGED = 50
STEPS = 40

_BLAMED = "d000/f0.txt"


class Job:
    """Work to be counted.

    Args:
        row: its name among the counts.
        place: where it is done.
        work: does it.
    """

    def __init__(self, row: str, place: Place, work: Callable[[], Any]) -> None:
        self.row = row
        self.place = place
        self.work = work


def first(directory: str) -> Iterator[Job]:
    """Opening a folder and its first snapshot, with and without git."""
    for row, in_git in (("first-git", True), ("first-plain", False)):
        os.mkdir(inside := os.path.join(directory, row))
        place = Place(inside, project(FILES), in_git=in_git)

        def opened(place: Place = place) -> None:
            place.open()
            place.track()

        yield Job(row, place, opened)
        place.close()


def tracks(directory: str) -> Iterator[Job]:
    """Snapshots after nothing, one file and many were changed, a status, and the first snapshot of a new process."""
    place = Place(directory, project(FILES))
    place.ready()
    yield Job("noop", place, place.track)
    place.edit(1)
    yield Job("one", place, place.track)
    place.edit(CHANGED)
    yield Job("hundred", place, place.track)
    for row, count in (("one-published", 1), ("hundred-published", CHANGED)):
        place.edit(count)
        yield Job(row, place, partial(_published, place))
    yield Job("status", place, partial(place.request, "snapshot/status"))
    place.close()

    def opened() -> None:
        place.open()
        place.track()

    yield Job("restart", place, opened)


def _published(place: Place) -> str:
    tree = place.track()
    place.publish()
    return tree


def small(directory: str) -> Iterator[Job]:
    """The same in a smaller folder."""
    place = Place(directory, project(FILES // 10))
    place.ready()
    yield Job("small-noop", place, place.track)
    place.edit(1)
    yield Job("small-one", place, place.track)


def contents(directory: str) -> Iterator[Job]:
    """Showing changed files, and bringing them back in each way there is."""
    place = Place(directory, project(FILES))
    before = place.ready()
    place.edit(CHANGED)
    after = place.track()
    yield Job("diff", place, partial(place.request, "snapshot/diffFull", **{"from": before, "to": after}))
    yield Job("restore", place, partial(place.request, "snapshot/restore", hash=before))
    place.edit(CHANGED)
    place.track()
    patches = [place.request("snapshot/patch", hash=before)]
    yield Job("revert", place, partial(place.request, "snapshot/revert", patches=patches))
    yield Job("export", place, partial(place.request, "snapshot/export", hash=after, directory=f"{directory}/exported"))
    place.request("session/start", sessionId="guard")
    step = place.step(CHANGED)
    place.step(1)
    yield Job("undo", place, partial(place.request, "session/undo", stepId=step))
    yield Job("redo", place, partial(place.request, "session/redo", sessionId="guard"))


def steps(directory: str) -> Iterator[Job]:
    """A step as the hooks of an agent have it, and what is asked of a history of some of them."""
    place = Place(directory, project(FILES))
    place.ready()
    request = place.request
    request("session/start", sessionId="guard")
    for _ in range(STEPS):
        place.step(2)
    begun: dict[str, str] = {}

    def begin() -> None:
        begun.update(request("step/begin", sessionId="guard"))

    yield Job("step-begin", place, begin)
    place.edit(1)
    yield Job("step-end", place, lambda: request("step/end", stepId=begun["stepId"]))
    yield Job("session-list", place, partial(request, "session/list"))
    yield Job("session-steps", place, partial(request, "session/steps", sessionId="guard"))
    yield Job("session-history", place, partial(request, "session/history", limit=10))
    yield Job("review-first", place, partial(request, "review/list"))
    place.step(1)
    yield Job("review", place, partial(request, "review/list"))
    yield Job("review-file", place, partial(request, "review/file", file=_BLAMED))
    yield Job("review-keep", place, partial(request, "review/keep", file=_BLAMED, hunks=[0]))
    yield Job("blame-first", place, partial(request, "snapshot/blame", file=_BLAMED))
    yield Job("blame-again", place, partial(request, "snapshot/blame", file=_BLAMED))
    place.step(1)
    yield Job("blame", place, partial(request, "snapshot/blame", file=_BLAMED))


def git_steps(directory: str) -> Iterator[Job]:
    """A step in a repository in which git does nothing, and one that commits."""
    place = Place(directory, project(FILES), in_git=True)
    place.ready()
    request = place.request
    request("session/start", sessionId="guard")
    place.step(2)
    begun: dict[str, str] = {}

    def begin() -> None:
        begun.update(request("step/begin", sessionId="guard"))

    def end() -> None:
        request("step/end", stepId=begun["stepId"])

    yield Job("git-step-begin", place, begin)
    place.edit(1)
    yield Job("git-step-end", place, end)
    begin()
    place.commit()
    yield Job("git-commit", place, end)


SCENARIOS: tuple[Scenario, ...] = (first, tracks, small, contents, steps, git_steps)
