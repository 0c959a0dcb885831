"""What the benchmark counts as the space that a step takes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.bench import Bench, Counts, Pair
from benchmarks.git_algorithm import make_project
from benchmarks.measure import WrongResult
from benchmarks.rows.storage import disk_use, settled, store
from snapd.store.journal.frames import Frame, encode_frame, file_start
from tests.support.places import make_folder

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tree")
    for number in range(20):
        (folder / f"{number}.txt").write_text(f"{number}\n" * 30, encoding="ascii")
    make_project(str(folder))
    return folder


@pytest.fixture(scope="module")
def work() -> Iterator[Path]:
    folder = make_folder("bench-")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def pair(tree: Path, work: Path) -> Iterator[Pair]:
    with Pair(str(tree), str(work / "p")) as found:
        yield found


def journals(pair: Pair) -> list[Path]:
    return [path for path in Path(pair.daemon.data).rglob("journal/*") if path.is_file()]


def test_the_journal_does_not_count_and_work_goes_on(pair: Pair) -> None:
    pair.editor.edit()
    pair.track()
    assert journals(pair) != []
    with_journal = disk_use(pair.daemon.data)["apparent"]
    ours, theirs = settled(pair)
    assert journals(pair) == []
    assert ours["apparent"] < with_journal
    assert theirs == disk_use(pair.shadow.objects)
    # that all is there that was is seen by the same tree, taken again
    pair.editor.edit()
    pair.track()


def test_a_journal_that_is_left_ends_the_run(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    pair.editor.edit()
    pair.track()
    (journal,) = {path.parent for path in journals(pair)}
    stop = pair.daemon.stop

    def leaves_one() -> None:
        stop()
        (journal / "9").write_bytes(file_start() + encode_frame(file_start(), Frame({}, {})))

    with monkeypatch.context() as patch:
        patch.setattr(pair.daemon, "stop", leaves_one)
        with pytest.raises(WrongResult, match="journal"):
            settled(pair)
    pair.daemon.start()
    pair.reconnect()


def test_a_step_grows_both_sides_by_their_objects(tree: Path, work: Path, tmp_path: Path) -> None:
    with Bench(str(tree), str(work), str(tmp_path), Counts(steps=4)) as bench:
        rows = {row.key: row for row in store(bench)}
    assert list(rows) == ["step-apparent", "step-allocated", "packed-apparent", "packed-allocated"]
    step = rows["step-apparent"]
    assert step.other is not None
    # a blob and a tree each; snapd has an event besides: a commit, a tree, and what the database has of it
    assert 0 < step.snapd.median - step.other.median < 1400
