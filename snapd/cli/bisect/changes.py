"""The time in which a session worked as a row of states: what changed from one to the next, and who was at work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from snapd.cli.terminal.naming import short

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_BEGIN, _END = 0, 1


class Change(NamedTuple):
    """What changed between two snapshots that followed each other.

    Attributes:
        before: the hash of the first one.
        after: that of the other, which differs.
        name: of the other, for people.
        steps: the steps that were open meanwhile, of any session, as the answers have them, without those that others
            of them are parts of; empty between steps.
    """

    before: str
    after: str
    name: str
    steps: tuple[dict[str, Any], ...]


class _Edge(NamedTuple):
    """The beginning or the end of a step.

    Attributes:
        order: by which they sort: the time first; at the same time, a step ends before the next one begins.
        step: the step.
    """

    order: tuple[str, str, int, int]
    step: dict[str, Any]

    @property
    def begins(self) -> bool:
        """Whether it is the beginning."""
        return self.order[-1] == _BEGIN

    @property
    def tree(self) -> str | None:
        """The snapshot that was taken then; None where it is not to be tried.

        What is undone cannot be why something does not work now. A step that was undone is still told of where a
        snapshot that others took has its changes.
        """
        if self.step["state"] == "undone":
            return None
        return str(self.step["from" if self.begins else "to"])

    @property
    def name(self) -> str:
        """What the snapshot is called."""
        return f"{'before' if self.begins else 'after'} {short(self.step['stepId'])}"


def span(steps: Iterable[dict[str, Any]]) -> tuple[str, str] | None:
    """From when to when the steps of a session went on that can be tried; None if there are none.

    Args:
        steps: as the answers have them.
    """
    edges = _tried(steps)
    return (edges[0].order[0], edges[-1].order[0]) if edges else None


def changes_of(steps: Sequence[dict[str, Any]], others: Iterable[dict[str, Any]] = ()) -> list[Change]:
    """The changes in the order of time, each beginning where the one before it ends.

    Args:
        steps: of a session, as the answers have them; the row is from the first to the last of them that have ended
            and are not undone.
        others: those of other sessions, which may have been at work meanwhile.
    """
    own = _tried(steps)
    if not own:
        return []
    first, last = own[0].order, own[-1].order
    found: list[Change] = []
    tree: str | None = None
    under_way: dict[str, dict[str, Any]] = {}
    since: dict[str, dict[str, Any]] = {}
    for edge in _edges([*steps, *others]):
        is_tried = edge.tree is not None and first <= edge.order <= last
        if is_tried:
            if tree not in (None, edge.tree):
                found.append(Change(str(tree), str(edge.tree), edge.name, _innermost(since)))
            tree = edge.tree
        name = edge.step["stepId"]
        if edge.begins:
            under_way[name] = since[name] = edge.step
        else:
            del under_way[name]
        if is_tried:
            since = dict(under_way)
    return found


def _tried(steps: Iterable[dict[str, Any]]) -> list[_Edge]:
    """The edges of the steps that have ended and are not undone."""
    return [edge for edge in _edges(steps) if edge.tree is not None and "endedAt" in edge.step]


def _edges(steps: Iterable[dict[str, Any]]) -> list[_Edge]:
    found = []
    for step in steps:
        about = step["sessionId"], step["index"]
        found.append(_Edge((step["startedAt"], *about, _BEGIN), step))
        if "endedAt" in step:
            found.append(_Edge((step["endedAt"], *about, _END), step))
    return sorted(found, key=lambda edge: edge.order)


def _innermost(steps: dict[str, dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    around = {step.get("parentStepId") for step in steps.values()}
    return tuple(step for name, step in steps.items() if name not in around)
