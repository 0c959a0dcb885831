"""An undo keeps what others wrote right beside the lines that it takes back."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.sessions import TEXT, Agents, text
from tests.support.workspace import make

Lines = list[bytes]


def changed(lines: Lines, at: int, count: int, new: Lines) -> Lines:
    """The lines with others in place of some."""
    return lines[:at] + new + lines[at + count :]


@pytest.mark.parametrize(
    ("now", "after"),
    [
        (text(l3=b"agent\nuser"), text(l3=b"3\nuser")),
        (text(l3=b"user\nagent"), text(l3=b"user\n3")),
        (text(l3=b"agent", l4=b"user"), text(l4=b"user")),
        (text(l2=b"user", l3=b"agent", l4=b"user"), text(l2=b"user", l4=b"user")),
        (text(l3=b"agent", l4=b"user").replace(b"5\n", b""), text(l4=b"user").replace(b"5\n", b"")),
    ],
    ids=["a line below", "a line above", "the next line changed", "both neighbours changed", "more below"],
)
def test_beside_a_changed_line(agents: Agents, now: bytes, after: bytes) -> None:
    agents.step("one", {"a.txt": text(l3=b"agent")})
    agents.bench.write({"a.txt": now})
    assert agents.undo("one") == {"a.txt": "merged"}
    assert agents.bench.read()["a.txt"] == after
    assert agents.redo("one") == {"a.txt": "restored"}
    assert agents.bench.read()["a.txt"] == now


def test_both_at_the_same_place(agents: Agents) -> None:
    agents.step("one", {"a.txt": TEXT.replace(b"5\n6\n", b"")})
    agents.bench.write({"a.txt": TEXT.replace(b"5\n6\n", b"user\n")})
    assert agents.undo("one") == {"a.txt": "conflict:changedSince"}


def test_below_a_last_line_without_an_end(agents: Agents) -> None:
    agents.step("one", {"a.txt": TEXT + b"agent"})
    agents.bench.write({"a.txt": TEXT + b"agent\nuser\n"})
    assert agents.undo("one") == {"a.txt": "conflict:changedSince"}


EDITS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=4)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(step=st.tuples(st.integers(0, 10), st.integers(0, 3), st.integers(0, 3)), users=EDITS)
def test_lines_by_author(
    tmp_path_factory: pytest.TempPathFactory, step: tuple[int, int, int], users: list[tuple[int, int, int]]
) -> None:
    numbers = itertools.count()

    def fresh(author: bytes, count: int) -> Lines:
        return [b"%s %d\n" % (author, next(numbers)) for _ in range(count)]

    before = fresh(b"before", 10)
    at, count, new = step
    agents_lines = fresh(b"agent", new)
    taken = before[at : at + count]
    left = changed(before, at, count, agents_lines)
    now = left
    for where, gone, come in users:
        now = changed(now, where, gone, fresh(b"user", come))

    bench = make(tmp_path_factory.mktemp("touching"), {"a.txt": b"".join(before), "b.txt": b"b\n"})
    try:
        agents = Agents(bench)
        agents.start("one")
        agents.step("one", {"a.txt": b"".join(left), "b.txt": b"changed\n"})
        bench.write({"a.txt": b"".join(now)})
        said = agents.undo("one")["a.txt"] if left != before else "unchanged"
        found = bench.read()["a.txt"]
    finally:
        bench.close()
    wanted = without(left, now, at, agents_lines, taken)
    if left == before or wanted is None:
        assert found == b"".join(now)
        assert left == before or said == "conflict:changedSince"
    else:
        assert found == b"".join(wanted)


def without(left: Lines, now: Lines, at: int, agents_lines: Lines, taken: Lines) -> Lines | None:
    """What the user has, with the lines of the agent replaced by those that it took; None where the user's overlap.

    Each line is there once, so that those of `left` which are still in `now` show where the user changed something.
    """
    end = at + len(agents_lines)
    kept = [place for place, line in enumerate(left) if line in now]
    edits = []
    for before, after in itertools.pairwise([-1, *kept, len(left)]):
        start = now.index(left[before]) + 1 if before >= 0 else 0
        stop = now.index(left[after]) if after < len(left) else len(now)
        if stop > start or after > before + 1:
            edits.append((before + 1, after, now[start:stop]))
    for first, last, new in edits:
        if (first, last, new) == (at, end, taken):
            return now
        overlaps = max(first, at) < min(last, end) or at < first == last < end or first < at == end < last
        if overlaps or (new and taken and first == last == at == end):
            return None
    wanted = list(left)
    for first, last, new in sorted([*edits, (at, end, taken)], reverse=True):
        wanted[first:last] = new
    return wanted
