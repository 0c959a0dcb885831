"""What a step itself changed, where several were open at once."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapd.core.attribution import Author, Delta, OwnChanges, own_changes, own_moves
from snapd.model.snapshot import REGULAR, Change, Entry
from snapd.model.timeline import SnapshotId, Span

State = dict[str, str]
"""Files by name, with a letter for what is in them; under a name that ends in a slash, an empty directory."""


def entry(letter: str | None) -> Entry | None:
    return None if letter is None else Entry(REGULAR, letter.encode() * 20)


def own(step: str, looks: list[tuple[str, State]], authors: dict[str, Author]) -> OwnChanges:
    """What belongs to a step.

    Args:
        looks: how the work tree was found each time, and the steps that had been open since the time before.
    """
    states = [state for _, state in looks]
    ids = [SnapshotId(bytes([at]), b"coverage %d" % at) for at in range(len(states))]
    spans = [
        Span(before, after, tuple(steps))
        for (before, after), (steps, _) in zip(itertools.pairwise(ids), looks[1:], strict=True)
        if steps
    ]

    def changes(old: SnapshotId, new: SnapshotId) -> list[Change]:
        before, after = states[old.tree[0]], states[new.tree[0]]
        names = sorted(name for name in before.keys() | after.keys() if not name.endswith("/"))
        return [
            Change(name.encode(), entry(before.get(name)), entry(after.get(name)))
            for name in names
            if before.get(name) != after.get(name)
        ]

    def empty_directories(snapshot: SnapshotId) -> list[bytes]:
        return [name[:-1].encode() for name in states[snapshot.tree[0]] if name.endswith("/")]

    return own_changes((step,), spans, authors, changes, empty_directories)


def told(changes: OwnChanges) -> str:
    """A line for people: `name old>new`, with `?` where it is shared and `-` for no file."""

    def letter(found: Entry | None) -> str:
        return "-" if found is None else chr(found.oid[0])

    def delta(one: Delta) -> str:
        return f"{letter(one.old)}>{letter(one.new)}" + "?" * one.shared

    files = [f"{path.decode()} {' '.join(map(delta, chain))}" for path, chain in changes.files.items()]
    directories = [
        f"{path.decode()}/ {'came' if one.came else 'went'}" + "?" * one.shared
        for path, one in changes.directories.items()
    ]
    return ", ".join(files + directories)


def author(session: str, *claims: str, said: bool = True) -> Author:
    return Author(session, frozenset(claim.encode() for claim in claims) if said else None)


def silent(session: str) -> Author:
    return author(session, said=False)


# A and a are steps of one session, B of another, C of a third; f changes from x to y while these are open: whose it is
OWNERS: dict[str, tuple[str, dict[str, Author], dict[str, str]]] = {
    "alone": ("A", {"A": silent("1")}, {"A": "f x>y"}),
    "alone, claiming it": ("A", {"A": author("1", "f")}, {"A": "f x>y"}),
    "alone, claiming another: the user's": ("A", {"A": author("1", "g")}, {"A": ""}),
    "alone, claiming nothing: the user's": ("A", {"A": author("1")}, {"A": ""}),
    "nobody": ("", {"A": silent("1")}, {"A": ""}),
    "another alone": ("B", {"A": silent("1"), "B": silent("2")}, {"A": "", "B": "f x>y"}),
    "two silent": ("AB", {"A": silent("1"), "B": silent("2")}, {"A": "f x>y?", "B": "f x>y?"}),
    "two silent of one session": ("Aa", {"A": silent("1"), "a": silent("1")}, {"A": "f x>y", "a": "f x>y"}),
    "one claims it, one is silent": ("AB", {"A": author("1", "f"), "B": silent("2")}, {"A": "f x>y", "B": ""}),
    "one claims another, one is silent": ("AB", {"A": author("1", "g"), "B": silent("2")}, {"A": "", "B": "f x>y"}),
    "one claims nothing, one is silent": ("AB", {"A": author("1"), "B": silent("2")}, {"A": "", "B": "f x>y"}),
    "one claims it, one another": ("AB", {"A": author("1", "f"), "B": author("2", "g")}, {"A": "f x>y", "B": ""}),
    "both claim it": ("AB", {"A": author("1", "f"), "B": author("2", "f")}, {"A": "f x>y?", "B": "f x>y?"}),
    "both claim another: the user's": ("AB", {"A": author("1", "g"), "B": author("2", "g")}, {"A": "", "B": ""}),
    "both claim nothing: the user's": ("AB", {"A": author("1"), "B": author("2")}, {"A": "", "B": ""}),
    "two of three claim it, one session": (
        "AaB",
        {"A": author("1", "f"), "a": author("1", "f"), "B": silent("2")},
        {"A": "f x>y", "a": "f x>y", "B": ""},
    ),
    "two of three are silent": (
        "ABC",
        {"A": author("1", "g"), "B": silent("2"), "C": silent("3")},
        {"A": "", "B": "f x>y?", "C": "f x>y?"},
    ),
    "one of three claims it": (
        "ABC",
        {"A": author("1", "g"), "B": silent("2"), "C": author("3", "f")},
        {"A": "", "B": "", "C": "f x>y"},
    ),
    "the silent ones are of one session": (
        "AaB",
        {"A": silent("1"), "a": silent("1"), "B": author("2", "g")},
        {"A": "f x>y", "a": "f x>y", "B": ""},
    ),
}


@pytest.mark.parametrize(("steps", "authors", "wanted"), OWNERS.values(), ids=OWNERS.keys())
def test_whose_a_change_is(steps: str, authors: dict[str, Author], wanted: dict[str, str]) -> None:
    looks = [("", {"f": "x"}), (steps, {"f": "y"})]
    assert {step: told(own(step, looks, authors)) for step in authors} == wanted


# what A and B claim, while all of d/f, d/e/g, dd and h change: what is A's
CLAIMS: dict[str, tuple[list[str], list[str], str]] = {
    "a directory": (["d"], [], "d/e/g x>y, d/f x>y"),
    "a directory below": (["d/e"], [], "d/e/g x>y"),
    "a name that another begins with": (["dd"], [], "dd x>y"),
    "a directory against a file in it": (["d"], ["d/f"], "d/e/g x>y, d/f x>y?"),
    "two": (["d/f", "h"], ["h"], "d/f x>y, h x>y?"),
    "something that did not change": (["z"], [], ""),
}


@pytest.mark.parametrize(("ours", "theirs", "wanted"), CLAIMS.values(), ids=CLAIMS.keys())
def test_claims_of_directories(ours: list[str], theirs: list[str], wanted: str) -> None:
    names = ("d/f", "d/e/g", "dd", "h")
    looks = [("", dict.fromkeys(names, "x")), ("AB", dict.fromkeys(names, "y"))]
    assert told(own("A", looks, {"A": author("1", *ours), "B": author("2", *theirs)})) == wanted


# how the work tree was found, and who was open since the time before: what is A's. B is of another session
STORIES: dict[str, tuple[list[tuple[str, State]], str]] = {
    "made": ([("", {}), ("A", {"f": "x"})], "f ->x"),
    "deleted": ([("", {"f": "x"}), ("A", {})], "f x>-"),
    "the user before": ([("", {"f": "w"}), ("", {"f": "x"}), ("A", {"f": "y"})], "f x>y"),
    "the user afterwards": ([("", {"f": "x"}), ("A", {"f": "y"}), ("", {"f": "z"})], "f x>y"),
    "twice, nobody between": ([("", {"f": "x"}), ("A", {"f": "y"}), ("A", {"f": "z"})], "f x>z"),
    "twice, the user between": (
        [("", {"f": "w"}), ("A", {"f": "x"}), ("", {"f": "y"}), ("A", {"f": "z"})],
        "f w>x y>z",
    ),
    "twice, another step between": (
        [("", {"f": "w"}), ("A", {"f": "x"}), ("B", {"f": "y"}), ("A", {"f": "z"})],
        "f w>x y>z",
    ),
    "there and back": ([("", {"f": "x"}), ("A", {"f": "y"}), ("A", {"f": "x"})], ""),
    "made and deleted": ([("", {}), ("A", {"f": "x"}), ("A", {})], ""),
    "deleted and made again": ([("", {"f": "x"}), ("A", {}), ("A", {"f": "x"})], ""),
    "deleted and made anew": ([("", {"f": "x"}), ("A", {}), ("A", {"f": "y"})], "f x>y"),
    "back to what the user had made of it": (
        [("", {"f": "w"}), ("A", {"f": "x"}), ("", {"f": "y"}), ("A", {"f": "z"}), ("A", {"f": "y"})],
        "f w>x",
    ),
    "the user took his own back": (
        [("", {"f": "w"}), ("A", {"f": "x"}), ("", {"f": "y"}), ("", {"f": "x"}), ("A", {"f": "z"})],
        "f w>z",
    ),
    "shared once": ([("", {"f": "x"}), ("A", {"f": "y"}), ("AB", {"f": "z"})], "f x>z?"),
    "shared at first": ([("", {"f": "x"}), ("AB", {"f": "y"}), ("A", {"f": "z"})], "f x>z?"),
    "shared once, and once not": (
        [("", {"f": "w"}), ("AB", {"f": "x"}), ("", {"f": "y"}), ("A", {"f": "z"})],
        "f w>x? y>z",
    ),
    "shared, there and back": ([("", {"f": "x"}), ("AB", {"f": "y"}), ("A", {"f": "x"})], ""),
    "two files": ([("", {"f": "x", "g": "x"}), ("A", {"f": "y", "g": "x"}), ("B", {"f": "y", "g": "y"})], "f x>y"),
    "moved": ([("", {"f": "x"}), ("A", {"g": "x"})], "f x>-, g ->x"),
    "a file for a directory": ([("", {"d": "x"}), ("A", {"d/f": "x"})], "d x>-, d/f ->x"),
    "a directory came": ([("", {}), ("A", {"d/": ""})], "d/ came"),
    "a directory went": ([("", {"d/": ""}), ("A", {})], "d/ went"),
    "a directory came and went": ([("", {}), ("A", {"d/": ""}), ("A", {})], ""),
    "a directory went and came": ([("", {"d/": ""}), ("A", {}), ("A", {"d/": ""})], ""),
    "a directory came, the user's doing": ([("", {}), ("", {"d/": ""}), ("A", {"d/": ""})], ""),
    "a directory came, the user took it away": ([("", {}), ("A", {"d/": ""}), ("", {})], "d/ came"),
    "a directory came twice": ([("", {}), ("A", {"d/": ""}), ("", {}), ("A", {"d/": ""})], "d/ came"),
    "a directory came, shared": ([("", {}), ("AB", {"d/": ""})], "d/ came?"),
    "a file came into an empty directory": ([("", {"d/": ""}), ("A", {"d/f": "x"})], "d/f ->x, d/ went"),
    "the last file of a directory went": ([("", {"d/f": "x"}), ("A", {"d/": ""})], "d/f x>-, d/ came"),
}


@pytest.mark.parametrize(("looks", "wanted"), STORIES.values(), ids=STORIES.keys())
def test_what_is_its_own(looks: list[tuple[str, State]], wanted: str) -> None:
    assert told(own("A", looks, {"A": silent("1"), "B": silent("2")})) == wanted


# what A claims, while the file d/was goes and e/f comes: what is A's of the directories
DIRECTORY_CLAIMS = {
    "by name": (["d", "e"], "d/ came, e/ went"),
    "by what came into it": (["e/f"], "e/ went"),
    "by what went from it": (["d/was"], "d/ came"),
    "a name that begins likewise": (["dd", "e.f"], ""),
}


@pytest.mark.parametrize(("claims", "wanted"), DIRECTORY_CLAIMS.values(), ids=DIRECTORY_CLAIMS.keys())
def test_claims_of_empty_directories(claims: list[str], wanted: str) -> None:
    looks = [("", {"d/was": "x", "e/": ""}), ("AB", {"d/": "", "e/f": "x"})]
    found = own("A", looks, {"A": author("1", *claims), "B": author("2")})
    assert told(OwnChanges({}, found.directories)) == wanted


# moves in spans that follow on each other, from and to; what they come to
MOVES: dict[str, tuple[list[dict[str, str]], dict[str, str]]] = {
    "none": ([{}], {}),
    "one": ([{"a": "b"}], {"a": "b"}),
    "on": ([{"a": "b"}, {"b": "c"}], {"a": "c"}),
    "there and back": ([{"a": "b"}, {"b": "a"}], {}),
    "changed places": ([{"a": "b", "b": "a"}], {"a": "b", "b": "a"}),
    "changed places, and one moved on": ([{"a": "b", "b": "a"}, {"b": "c"}], {"a": "c", "b": "a"}),
    "the place taken by another": ([{"a": "b"}, {"c": "a"}], {"a": "b", "c": "a"}),
}


@pytest.mark.parametrize(("moves", "wanted"), MOVES.values(), ids=MOVES.keys())
def test_moves_add_up(moves: list[dict[str, str]], wanted: dict[str, str]) -> None:
    ids = [SnapshotId(bytes([at]), b"") for at in range(len(moves) + 1)]
    spans = [Span(before, after, ("A",)) for before, after in itertools.pairwise(ids)]
    found = own_moves(spans, lambda old, _: {to.encode(): at.encode() for at, to in moves[old.tree[0]].items()})
    assert {old.decode(): new.decode() for new, old in found.items()} == wanted


STATES = st.dictionaries(st.sampled_from(["f", "g", "d/h"]), st.sampled_from("xyz"))


@given(st.lists(st.tuples(st.sampled_from(["", "A", "B", "AB"]), STATES), min_size=1, max_size=7))
def test_each_change_is_somebodys(looks: list[tuple[str, State]]) -> None:
    found = {step: own(step, looks, {"A": silent("1"), "B": silent("2")}).files for step in "AB"}
    for name in ("f", "g", "d/h"):
        for step in "AB":
            chain = found[step].get(name.encode(), ())
            assert all(one.old != one.new for one in chain)
            assert all(one.new != other.old for one, other in itertools.pairwise(chain))
            # what is its own is what it saw, and no more: those that nobody else could have changed add up
            moves = [
                (before.get(name), after.get(name))
                for (_, before), (steps, after) in itertools.pairwise(looks)
                if step in steps
            ]
            assert {one.old for one in chain} <= {entry(old) for old, _ in moves}
            assert {one.new for one in chain} <= {entry(new) for _, new in moves}
            assert any(one.shared for one in chain) <= any(
                steps == "AB" and before.get(name) != after.get(name)
                for (_, before), (steps, after) in itertools.pairwise(looks)
            )


@given(st.lists(STATES, min_size=1, max_size=6))
def test_alone_it_is_the_whole_difference(states: list[State]) -> None:
    found = own("A", [("A", state) for state in states], {"A": silent("1")}).files
    first, last = states[0], states[-1]
    assert found == {
        name.encode(): (Delta(entry(first.get(name)), entry(last.get(name))),)
        for name in first.keys() | last.keys()
        if first.get(name) != last.get(name)
    }
