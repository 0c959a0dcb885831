"""Review in the library: what is pending, kept and reverted, and who wrote a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from snapd import FileChanged, InvalidParams, Snapshot

if TYPE_CHECKING:
    from pathlib import Path

LINES = [f"{number}\n" for number in range(30)]


def text(**changed: str) -> str:
    return "".join(changed.get(f"l{number}", line) for number, line in enumerate(LINES))


def test_keep_and_revert(tmp_path: Path) -> None:
    project = tmp_path / "p"
    project.mkdir()
    file = project / "f"
    file.write_text(text())
    with Snapshot(project, data_dir=tmp_path / "data") as snap, snap.session("s", agent="ada") as session:
        snap.track()
        with session.step() as step:
            file.write_text(text(l3="three\n", l20="twenty\n"))
            (project / "new").write_text("n\n")
        assert [(each.file, each.hunks, each.owners[0].step_id) for each in snap.review.files()] == [
            ("f", 2, step.step_id),
            ("new", 1, step.step_id),
        ]
        shown = snap.review.file("f")
        left = snap.review.keep(file="f", hunks=[0], expect={"f": shown.id})
        assert [(each.file, each.hunks) for each in left] == [("f", 1)]
        with pytest.raises(FileChanged):
            snap.review.revert(file="f", hunks=[0], expect={"f": shown.id})
        assert {each.file: each.outcome for each in snap.review.revert().files} == {"f": "restored", "new": "deleted"}
        assert file.read_text() == text(l3="three\n")
        assert snap.review.files("s") == []
        with pytest.raises(InvalidParams, match="no pending changes"):
            snap.review.file("f")
        runs = snap.review.blame("f", lines=(3, 3))
        assert [(run.start, run.count, run.author, run.agent) for run in runs] == [
            (3, 1, "before", None),
            (4, 1, "step", "ada"),
            (5, 1, "before", None),
        ]
