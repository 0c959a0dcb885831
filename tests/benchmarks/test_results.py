"""The results of a run: goals, the JSON, the table, the picture."""

from __future__ import annotations

import glob
import json
import os
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.goals import GOALS, Goal, goal_of
from benchmarks.growth import KINDS, Kind, Series, compared
from benchmarks.measure import Samples
from benchmarks.plot import draw
from benchmarks.results import BadResults, Row, Run, dump, load
from benchmarks.table import HEADINGS, RESULTS, cells, markdown, quantity

MACHINE: dict[str, str | int] = {
    "cores": 2,
    "cpu": "A CPU",
    "memoryBytes": 1,
    "kernel": "6.1",
    "fileSystem": "ext4",
    "python": "3.11",
    "git": "2.39",
    "snapd": "0.1.0",
    "commit": "abc",
}


def row(key: str, snapd: float, other: float | None = None, unit: str = "s") -> Row:
    against = None if other is None else Samples(unit, (other,))
    return Row(key, f"what {key} is", "git" if other is not None else "", Samples(unit, (snapd,)), against)


def run(tree: str, *rows: Row) -> Run:
    return Run(tree, 1000, "2026-01-02T03:04:05+00:00", MACHINE, {"repetitions": 3, "sizes": [1, 2]}, list(rows))


@pytest.mark.parametrize(
    ("measured", "goal", "met"),
    [
        (row("noop", 1.0, 150.0), Goal("faster", 150), True),
        (row("noop", 1.0, 149.0), Goal("faster", 150), False),
        (row("clients", 30.0, 10.0, "1/s"), Goal("faster", 3), True),
        (row("clients", 29.0, 10.0, "1/s"), Goal("faster", 3), False),
        (row("first-seeded", 3.0, 1.0), Goal("ratio", 3), True),
        (row("first-seeded", 3.1, 1.0), Goal("ratio", 3), False),
        (row("step-apparent", 0.0, 0.0, "B"), Goal("ratio", 1), True),
        (row("step-apparent", 1.0, 0.0, "B"), Goal("ratio", 1), False),
        (row("spawn", 0.5), Goal("limit", 0.5), True),
        (row("spawn", 0.51), Goal("limit", 0.5), False),
        (row("memory-growth", -5.0, unit="B"), Goal("limit", 10), True),
    ],
)
def test_a_goal_is_met_or_not(measured: Row, goal: Goal, met: bool) -> None:
    assert measured.met(goal) is met


def test_a_goal_of_the_linux_source_is_none_of_another_tree() -> None:
    assert goal_of("noop", "linux") == GOALS["noop"]
    assert goal_of("noop", "generated-1000") is None
    assert goal_of("diff", "generated-1000") == GOALS["diff"]
    assert goal_of("growth-noop-1000", "growth") is None


def test_both_sides_have_one_unit() -> None:
    with pytest.raises(ValueError, match="unit"):
        Row("noop", "", "", Samples("s", (1.0,)), Samples("B", (1.0,)))


def test_a_run_is_read_as_it_was_written() -> None:
    whole = run(
        "linux",
        Row("noop", "no-op", "git", Samples("s", (0.1, 0.3, 0.2)), Samples("s", (3.0,))),
        row("memory", 1e8, unit="B"),
        # one that has no goal
        row("busy", 0.02),
    )
    text = dump(whole)
    assert load(text) == whole
    data = json.loads(text)
    assert data["rows"][0]["snapd"] == {
        "median": 0.2,
        "p10": pytest.approx(0.12),
        "p90": pytest.approx(0.28),
        "samples": [0.1, 0.3, 0.2],
    }
    assert data["rows"][1]["other"] is None


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.pop("machine"),
        lambda data: data.update(schema=2),
        lambda data: data.update(more=1),
        lambda data: data["rows"][0].pop("unit"),
        lambda data: data["rows"][0].update(key=None),
        lambda data: data["rows"][0]["snapd"].update(samples=[]),
    ],
)
def test_what_is_no_run_is_refused(change: object) -> None:
    data = json.loads(dump(run("linux", row("noop", 1.0, 2.0))))
    assert callable(change)
    change(data)
    with pytest.raises(BadResults):
        load(json.dumps(data))


@pytest.mark.parametrize("text", ["", "[]", "{}", "null"])
def test_what_is_no_json_of_a_run_is_refused(text: str) -> None:
    with pytest.raises(BadResults):
        load(text)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (26.123, "s", "26.1 s"),
        (1.0, "s", "1.00 s"),
        (0.0123, "s", "12.3 ms"),
        (0.00034, "s", "340 µs"),
        (0.0, "s", "0.00 µs"),
        (150 * 1024**2, "B", "150 MiB"),
        (-4096.0, "B", "-4.00 KiB"),
        (12.0, "B", "12.0 B"),
        (0.5, "%", "0.50 %"),
        (1234.5, "1/s", "1,234/s"),
    ],
)
def test_quantities_are_short(value: float, unit: str, text: str) -> None:
    assert quantity(value, unit) == text


def test_a_line_of_the_table() -> None:
    linux = run("linux")
    assert cells(linux, row("one", 0.001, 0.2)) == (
        "what one is", "git", "1.00 ms", "200 ms", "200 x", ">= 120 x", "yes", "", "",
    )  # fmt: skip
    assert cells(linux, row("first-seeded", 0.8, 0.2))[4:7] == ("4.00 of it", "<= 2 of it", "NO")
    assert cells(linux, row("spawn", 0.2))[3:7] == ("", "", "<= 250 ms", "yes")
    assert cells(run("other"), row("noop", 0.001, 0.2))[4:7] == ("200 x", "", "")


def test_the_bound_of_a_row_and_how_far_above_it_the_row_is() -> None:
    linux = run("linux")
    noop = replace(row("noop", 0.001, 0.2), bound=Samples("s", (0.0004, 0.0005, 0.0006)))
    assert noop.above == pytest.approx(2)
    assert cells(linux, noop)[7:] == ("500 µs", "2.00 x")
    # more is better
    clients = replace(row("clients", 50.0, 10.0, "1/s"), bound=Samples("1/s", (150.0,)))
    assert clients.above == pytest.approx(3)
    assert cells(linux, clients)[7:] == ("150/s", "3.00 x")
    assert load(dump(run("linux", noop, row("idle", 1.0, unit="%")))).rows[0] == noop
    with pytest.raises(ValueError, match="unit"):
        replace(noop, bound=Samples("B", (1.0,)))


def test_rows_without_a_goal_are_read_as_well() -> None:
    """As every row that a run may have: each has begun with the name of a goal, or of one of these."""
    keys = ("hook-before", "hook-after", "export", "bisect", "review-first", "blame-again", "growth-list-100")
    whole = run("linux", *(row(key, 1.0) for key in keys))
    assert load(dump(whole)) == whole


def test_a_run_from_before_there_were_bounds_is_read() -> None:
    data = json.loads(dump(run("linux", row("noop", 1.0, 2.0))))
    del data["rows"][0]["bound"]
    assert load(json.dumps(data)) == run("linux", row("noop", 1.0, 2.0))


def test_the_table_is_markdown() -> None:
    lines = markdown(run("linux", row("noop", 0.001, 0.2), row("spawn", 0.3))).splitlines()
    assert "linux" in lines[0]
    assert "commit abc" in lines[0]
    assert [line.count("|") for line in lines[2:]] == [len(HEADINGS) + 1] * 4


def growth(*sizes: int) -> Run:
    return run(
        "growth",
        *(row(f"growth-{step}-{size}", 0.001, size / 1e5) for size in sizes for step in ("noop", "one")),
        row("growth-noop", 0.001, 0.001),
    )


def test_the_picture_stands_on_its_own_and_is_the_same_each_time() -> None:
    picture = draw(growth(1000, 10_000, 400_000))
    assert picture == draw(growth(400_000, 1000, 10_000))
    root = ElementTree.fromstring(picture)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    circles = root.findall(".//{*}circle")
    assert len(circles) == 4 * 3
    box = [float(number) for number in root.attrib["viewBox"].split()]
    assert all(0 < float(one.attrib["cx"]) < box[2] and 0 < float(one.attrib["cy"]) < box[3] for one in circles)
    # snapd's lines do not rise in these figures, git's do
    heights = {
        kind: [float(one.attrib["cy"]) for one in circles if one.attrib["class"] == kind]
        for kind in ("snapd noop", "git one")
    }
    assert len(set(heights["snapd noop"])) == 1
    assert heights["git one"] == sorted(heights["git one"], reverse=True)
    # legible whatever the page behind it is like
    assert "prefers-color-scheme: dark" in picture
    assert root.findall("{*}rect[@class='ground']")


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_each_kind_of_growth_has_a_picture_of_time_and_one_of_memory(kind: Kind) -> None:
    name = "growth" if kind.what == "files" else f"growth-{kind.what}"
    rows = [
        row(f"growth-{series.key}-{size}", 0.001 * size if series.unit == "s" else 1e8, unit=series.unit)
        for series in kind.series
        for size in (10, 1000)
    ]
    for unit in ("s", "B"):
        root = ElementTree.fromstring(draw(run(name, *rows, *compared(kind, rows)), unit))
        of_unit = [series for series in kind.series if series.unit == unit]
        assert of_unit
        assert len(root.findall(".//{*}circle")) == 2 * len(of_unit)
        shown = {text.text for text in root.findall(".//{*}text")}
        assert {series.name for series in of_unit} <= shown
        assert {kind.what, "10", "1,000"} <= shown


def test_the_largest_size_is_compared_with_the_least_at_which_as_much_was_asked_for() -> None:
    rows = [row(f"growth-{key}-{size}", size / 1e3) for key in ("a", "b") for size in (1, 10, 100)]
    kind = Kind(
        "steps", "Time", (1,), (Series("a", "a"), Series("b", "b", base=5), Series("c", "c")), lambda *_: iter(())
    )
    found = {one.key: one for one in compared(kind, [*rows, row("growth-c-1", 1.0)])}
    assert list(found) == ["growth-a", "growth-b"]
    assert found["growth-a"].other == Samples("s", (0.001,))
    assert found["growth-b"].other == Samples("s", (0.01,))
    assert found["growth-b"].against == "snapd at 10 steps"


def test_no_picture_without_growth() -> None:
    for tree in ("linux", "growth-unheard-of"):
        with pytest.raises(BadResults, match="GROWTH=1"):
            draw(run(tree, row("noop", 1.0, 2.0)))
    with pytest.raises(BadResults, match="GROWTH=1"):
        draw(growth(1000))


def test_the_results_that_are_quoted_can_be_read() -> None:
    for path in glob.glob(os.path.join(RESULTS, "*.json")):
        with open(path, encoding="utf-8") as file:
            assert load(file.read()).rows, path


QUOTED = {
    "first snapshot of a git repository": ("first-git", "first-seeded-durable"),
    "snapshot, nothing changed": ("noop", "noop-durable"),
    "snapshot, one file changed": ("one", "one-durable"),
    "snapshot, 100 files changed": ("hundred", "hundred-durable"),
    "diff of 1,000 changed files": ("diff", None),
    "restore of 1,000 changed files": ("restore", None),
    "first snapshot after a restart of the daemon": ("restart", None),
}
"""What the README calls the rows: the one beside git, and the one beside the strongest peer, if there is one."""


def test_the_readme_quotes_the_run_on_the_linux_source() -> None:
    with open(os.path.join(RESULTS, "linux.json"), encoding="utf-8") as file:
        linux = load(file.read())
    rows = {one.key: one for one in linux.rows}

    def other(key: str | None) -> str:
        side = rows[key].other if key else None
        return quantity(side.median, "s") if side else ""

    readme = (Path(RESULTS).parents[1] / "README.md").read_text("utf-8")
    head = f"| the Linux source, {linux.files:,} files | snapd | git | Watchman and libgit2 |"
    assert head in readme
    _, *lines = readme.split(head)[1].split("\n\n")[0].strip().splitlines()
    quoted = [[cell.strip() for cell in line.removeprefix("|").removesuffix("|").split("|")] for line in lines]
    assert quoted == [
        [name, quantity(rows[git].snapd.median, "s"), other(git), other(peer)] for name, (git, peer) in QUOTED.items()
    ]
    seeded = rows["first-seeded"].other
    assert seeded is not None
    assert f"its first snapshot takes {seeded.median:.2f} s" in readme
