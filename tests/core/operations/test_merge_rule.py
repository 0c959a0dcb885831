"""A restore treats each file as the three-way merge says: there is one rule for what becomes of a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapd.core.compare.threeway import Overlap, three_way
from snapd.model.snapshot import Entry, OnConflict
from tests.core.compare.stories import BIN, BIN_STEP, BOTH, CLASH, OLD, OTHER, STEP, USER, Objects
from tests.support.amounts import amount
from tests.support.workspace import Executable, Item, Symlink, make, outcomes

CONTENTS = (OLD, STEP, USER, BOTH, CLASH, OTHER, b"", BIN, BIN_STEP)
ITEMS: tuple[Item, ...] = (None, *CONTENTS, *map(Executable, CONTENTS), Symlink("x"), Symlink("y"))
ITEM = st.sampled_from(ITEMS)


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Objects:
    return Objects(tmp_path_factory.mktemp("objects"))


def becomes(
    objects: Objects, base: Entry | None, ours: Entry | None, wanted: Entry | None, on_conflict: OnConflict
) -> tuple[str, Entry | None]:
    """What a restore says of a file, and what it makes of it."""
    merged: Entry | Overlap | None
    if ours == wanted:
        return "", ours
    if on_conflict == "overwrite" or ours == base:
        merged = wanted
    elif on_conflict == "fail":
        merged = Overlap("")
    else:
        merged = three_way(base, ours, wanted, objects.merge, joins_added=True)
    # what is to come, or to go, is either done or a conflict
    if isinstance(merged, Overlap) or (merged == ours and None in (ours, wanted)):
        kind = "kept" if on_conflict == "keep" else "conflict"
        return f"{kind}:{'deletedSince' if ours is None else 'changedSince'}", ours
    if merged == ours:
        return "kept:changedSince", ours
    if merged is None:
        return "deleted", None
    return ("restored" if merged == wanted else "merged"), merged


@given(
    st.lists(st.tuples(ITEM, ITEM, ITEM), min_size=1, max_size=40),
    st.sampled_from(["merge", "fail", "overwrite", "keep"]),
)
@settings(deadline=None, max_examples=amount(20, 400))
def test_a_restore_is_a_three_way_merge_of_each_file(
    objects: Objects,
    tmp_path_factory: pytest.TempPathFactory,
    cases: list[tuple[Item, Item, Item]],
    on_conflict: OnConflict,
) -> None:
    check(objects, tmp_path_factory.mktemp("bench"), cases, on_conflict)


def check(objects: Objects, folder: Path, cases: list[tuple[Item, Item, Item]], on_conflict: OnConflict) -> None:
    """Has files become what each case says: in the snapshot, when a client saw it last, and now; then restores."""
    states = [
        {"witness": b"", **{f"{at:05}": case[when] for at, case in enumerate(cases) if case[when] is not None}}
        for when in range(3)
    ]
    bench = make(folder, states[0])
    tree = bench.track()
    bench.become(states[1])
    bench.track()
    bench.become(states[2])
    said: dict[str, str] = {}
    then: dict[str, Entry | None] = {}
    for at, case in enumerate(cases):
        wanted, base, ours = map(objects.entry, case)
        said[f"{at:05}"], then[f"{at:05}"] = becomes(objects, base, ours, wanted, on_conflict)
    said = {name: word for name, word in said.items() if word}
    if on_conflict == "fail" and any(word.startswith("conflict") for word in said.values()):
        said = {
            name: word if word.startswith("conflict") else "unchanged:conflictsElsewhere" for name, word in said.items()
        }
        then = {name: objects.entry(states[2].get(name)) for name in then}
    assert outcomes(bench.restore(tree, on_conflict, dry_run=True)) == said
    assert outcomes(bench.restore(tree, on_conflict)) == said
    wanted_items = {name: objects.item(entry) for name, entry in then.items() if entry is not None}
    assert bench.read() == {"witness": b"", **wanted_items}
    bench.close()
