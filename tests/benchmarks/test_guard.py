"""The counts of work that are committed: how they are kept, compared and accepted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.guard.committed import COMMITTED, BadCounts, differences, dump, load

ROOT = Path(__file__).parents[2]


def test_every_difference_has_a_line_and_nothing_else_has() -> None:
    committed = {"noop": {"call stat": 9, "call open": 1}, "gone": {"call read": 2}, "one": {"call write": 3}}
    found = {"noop": {"call stat": 1009, "processes": 1}, "one": {"call write": 3}}
    assert differences(committed, committed) == []
    assert differences(committed, found) == [
        "gone: call read: committed 2, found 0 (-2)",
        "noop: call open: committed 1, found 0 (-1)",
        "noop: call stat: committed 9, found 1,009 (+1,000)",
        "noop: processes: committed 0, found 1 (+1)",
    ]


def test_the_file_has_one_count_a_line_in_the_order_of_names(tmp_path: Path) -> None:
    counts = {"b": {"y": 1, "x": 2}, "a": {"z": 3}}
    text = dump(counts)
    assert [line.strip(' ",') for line in text.splitlines() if line.strip(" {},")] == [
        'a": {', 'z": 3', 'b": {', 'x": 2', 'y": 1',
    ]  # fmt: skip
    (tmp_path / "counts").write_text(text)
    assert load(str(tmp_path / "counts")) == counts
    assert dump(load(COMMITTED)) == Path(COMMITTED).read_text()


@pytest.mark.parametrize("text", ["", "[1]", '{"noop": 1}', '{"noop": {"call": null}}', "<<<<<<< ours"])
def test_a_file_without_counts_says_how_to_make_it_anew(tmp_path: Path, text: str) -> None:
    (tmp_path / "counts").write_text(text)
    with pytest.raises(BadCounts, match="make bench-guard ACCEPT=1"):
        load(str(tmp_path / "counts"))


FINDS_WHAT_IS_COMMITTED = """
import sys
from benchmarks.guard import measured
from benchmarks.guard.committed import load
measured.measure = lambda rows, work: load()
from benchmarks.guard.__main__ import main
sys.exit(main(["--counts", sys.argv[1]]))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the clock that is counted with is inotify")
def test_work_that_is_not_what_is_committed_fails_and_says_which(tmp_path: Path) -> None:
    """What it counts is what `make bench-guard` itself says: that takes as long as a hundred tests."""
    counts = load()
    counts["noop"]["call stat"] += 1
    counts["hook"]["modules of snapd"] -= 1
    counts["before"] = {"call stat": 7}
    other = tmp_path / "counts.json"
    other.write_text(json.dumps(counts))
    ended = subprocess.run(
        [sys.executable, "-c", FINDS_WHAT_IS_COMMITTED, str(other)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1, ended
    before, hook, noop, last = ended.stderr.splitlines()
    assert before == "before: call stat: committed 7, found 0 (-7)"
    assert hook.startswith("hook: modules of snapd: committed ")
    assert hook.endswith("(+1)")
    assert noop.startswith("noop: call stat: committed ")
    assert noop.endswith("(-1)")
    assert "3 counts" in last
    assert "make bench-guard ACCEPT=1" in last
