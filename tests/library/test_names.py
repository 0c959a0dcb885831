"""One name where several are expected: refused by every method, with nothing changed."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from snapd import Snapshot
from snapd.library import Patch, Session

if TYPE_CHECKING:
    from collections.abc import Callable

ONE = ("f", b"f", Path("f"))


def takers(cls: type) -> set[tuple[str, str]]:
    """Each method of a class that takes names of files, and the parameter."""
    return {
        (name, parameter.name)
        for name, method in inspect.getmembers(cls, inspect.isfunction)
        for parameter in inspect.signature(method).parameters.values()
        if "Iterable[FileName]" in str(parameter.annotation)
    }


@pytest.mark.parametrize("errors", ["raise", "degrade"])
def test_one_name_is_refused(project: Path, errors: Any) -> None:
    (project / "f").write_text("user\n")
    with Snapshot(project, errors=errors) as snap, snap.session() as session:
        tree = snap.track()
        assert tree is not None
        with session.step() as step:
            (project / "f").write_text("agent\n")
        calls: dict[tuple[str, str], Callable[[Any], object]] = {
            ("track", "force"): snap.track,
            ("diff", "files"): lambda one: snap.diff(tree, files=one),
            ("diff_full", "files"): lambda one: snap.diff_full(tree, files=one),
            ("export", "files"): lambda one: snap.export(tree, project / "nowhere", one),
            ("revert", "files"): lambda one: snap.revert(tree, one),
            ("revert_files", "files"): lambda one: session.revert_files(step, one),
        }
        assert set(calls) == takers(Snapshot) | takers(Session)
        for call in (*calls.values(), lambda one: snap.revert(Patch(hash=tree, files=one))):
            for one in ONE:
                with pytest.raises(TypeError, match="put it into a list"):
                    call(one)
        assert (project / "f").read_text() == "agent\n"
        # what is several is taken, of whatever kind
        assert "agent" in snap.diff(tree, files=(name for name in ("f",)))
        assert [row.outcome for row in session.revert_files(step, {"f"}).files] == ["restored"]
