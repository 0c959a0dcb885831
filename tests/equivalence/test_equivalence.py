"""A daemon is equal to itself, and the harness sees where one is not."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.support.places import make_folder

from .__main__ import ROOT, Differs, Figures, compare
from .history import History, Operation
from .names import Names
from .side import Side


@pytest.fixture
def top() -> Iterator[Path]:
    folder = make_folder("equiv-")
    yield folder
    shutil.rmtree(os.fsencode(folder))


def compared(top: Path, histories: int, operations: int) -> Figures:
    return asyncio.run(compare(top, ROOT, ROOT, histories, operations, "3"))


def test_a_daemon_is_equal_to_itself(top: Path) -> None:
    figures = compared(top, 3, 25)
    # each begins with three sessions and a snapshot
    assert (figures.histories, figures.operations) == (3, 3 * 29)
    assert figures.notifications > 20
    assert figures.looks_at_git >= 3


@pytest.mark.parametrize(
    ("method", "old", "new", "where"),
    [
        ("told", '"hash"', '"hush"', "the answers differ"),
        ("files", "base1", "base9", "the folders differ"),
        ("git", "commit refs/snapd", "blob refs/snapd", "the stores differ"),
    ],
)
def test_a_difference_is_found(
    top: Path, monkeypatch: pytest.MonkeyPatch, method: str, old: str, new: str, where: str
) -> None:
    holder = Names if method == "told" else Side
    real = getattr(holder, method)

    def broken(self: Side | Names, *words: Any) -> str:
        said: str = real(self, *words)
        is_new = self.name == "new" if isinstance(self, Side) else self.own.endswith("/new")
        return said.replace(old, new) if is_new else said

    monkeypatch.setattr(holder, method, broken)
    with pytest.raises(Differs, match=where) as found:
        compared(top, 1, 25)
    assert "--first 0 --histories 1 finds it again" in str(found.value)


def test_ids_are_named_in_the_order_in_which_they_come() -> None:
    one, other = "f" * 32, "a" * 32
    names = Names("/old", "/all", ["step/begin.gone"])
    said = names.told("step/begin", {"stepId": one, "gone": 1, "path": f"/old/{other}", "plan": "b" * 40})
    assert said == f'{{"stepId": "{1:032x}", "path": "/all/{2:032x}", "plan": "plan 0"}}'
    asked = {"stepId": f"{1:032x}", "expect": "plan 0", "file": "/all/there"}
    assert names.asked(asked) == {"stepId": one, "expect": "b" * 40, "file": "/old/there"}


def test_a_history_follows_from_its_seed() -> None:
    def told(seed: int) -> list[Operation]:
        history = History(Random(seed))
        done = []
        for operation in history.operations(50):
            done.append(operation)
            history.learn(
                operation,
                {
                    "result": {
                        "hash": "a" * 40,
                        "sessionId": "dan",
                        "stepId": f"s{len(done)}",
                        "files": [],
                        "applied": False,
                    }
                },
            )
        return done

    assert told(1) == told(1) != told(2)
