"""The history of some files alone, and what a step changed as a diff; judged by the whole history, and by git."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import Any

import pytest

from snapd.core.actions import step_changes
from snapd.core.actions.history import HistoryEntry, HistoryPosition, HistoryQuery
from snapd.core.compare.file_diff import FileDelta, describe
from snapd.model.call import Call
from snapd.model.errors import UnknownStep
from tests.support.amounts import amount
from tests.support.git import run_git
from tests.support.sessions import Agents, at_work, text
from tests.support.workspace import Executable, Symlink, read, write

NAMES = ("a", "b", "d/c", "d/e", "f")


def listed(agents: Agents, query: HistoryQuery, limit: int = 1000) -> list[HistoryEntry]:
    """The entries that a query gives, page by page."""
    entries: list[HistoryEntry] = []
    after: HistoryPosition | None = None
    while True:
        page = agents.bench.workspace.history.page(query, after, limit, Call())
        entries += page.entries
        after = page.after
        if after is None:
            return entries


def shape(entries: list[HistoryEntry]) -> list[tuple[int, str, list[tuple[bytes, bytes | None]]]]:
    return [(one.seq, one.kind, [(file.path, file.renamed_from) for file in one.files]) for one in entries]


def work(agents: Agents, random: Random) -> None:
    """Steps of two sessions, undos, and what the user writes in between."""
    for number in range(12):
        changed = dict.fromkeys(random.sample(NAMES, random.randint(1, 2)), b"%d\n" % number)
        what = random.random()
        if what < 0.6:
            agents.step(random.choice("st"), changed)
        elif what < 0.8:
            agents.bench.write(changed)
        elif any(agents.counts(session)[0] for session in "st"):
            agents.undo(next(session for session in "st" if agents.counts(session)[0]))
    agents.step("s", {"last": b"x"})


def test_a_second_look_counts_no_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agents = at_work(tmp_path, dict.fromkeys(NAMES, b"x\n"))
    agents.start("s")
    compared = []

    def counted(*arguments: Any, **options: Any) -> FileDelta:
        compared.append(arguments)
        return describe(*arguments, **options)

    monkeypatch.setattr(step_changes, "describe", counted)
    agents.bench.track()
    agents.bench.write({"a": b"y\nz\n", "f": b"\0"})
    agents.step("s", {"last": b"x"})
    agents.undo("s")
    first = listed(agents, HistoryQuery())
    (user,) = (entry for entry in first if entry.kind == "user")
    assert [(file.additions, file.deletions, file.binary) for file in user.files] == [(2, 1, False), (0, 0, True)]
    assert compared
    compared.clear()
    assert listed(agents, HistoryQuery()) == first
    assert compared == []


@pytest.mark.parametrize("seed", range(amount(6, 60)))
def test_only_some_files(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    agents = at_work(tmp_path, dict.fromkeys(NAMES, b"x\n"))
    for session in "st":
        agents.start(session)
    work(agents, random)
    whole = listed(agents, HistoryQuery())
    for wanted in ({b"a"}, {b"d"}, {b"f", b"d/c"}, {b"nowhere"}):
        expected = []
        for entry in whole:
            found = [file.path for file in entry.files if file.path in wanted or file.path.split(b"/")[0] in wanted]
            if found:
                expected.append((entry.seq, entry.kind, [(path, None) for path in found]))
        query = HistoryQuery(files=frozenset(wanted))
        for limit in (1, 3, 1000):
            assert shape(listed(agents, query, limit)) == expected
    for session in "st":
        own = [one for one in whole if session in (one.session_id, one.step and one.step.step.begun.session_id)]
        assert listed(agents, HistoryQuery(session), 2) == own


def test_a_file_by_its_older_names(tmp_path: Path) -> None:
    agents = at_work(tmp_path, {"one": text(), "other": b"x\n"})
    bench = agents.bench
    agents.start("s")
    agents.step("s", {"one": text(l3=b"three"), "other": b"y\n"})
    agents.step("s", lambda: os.rename(bench.path("one"), bench.path("two")))
    agents.step("s", {"other": b"z\n"})
    os.rename(bench.path("two"), bench.path("three"))
    bench.write({"three": text(l3=b"3rd")})
    agents.step("s", {"three": text(l3=b"3rd", l9=b"9th"), "one": b"a file of its own\n"})
    followed = [
        ("step", [(b"three", None)]),
        ("user", [(b"three", b"two")]),
        ("step", [(b"two", b"one")]),
        ("step", [(b"one", None)]),
    ]
    for limit in (1, 2, 1000):
        found = shape(listed(agents, HistoryQuery(files=frozenset({b"three"}), renames=True), limit))
        assert [(kind, files) for _, kind, files in found] == followed
    alone = shape(listed(agents, HistoryQuery(files=frozenset({b"three"}))))
    assert [kind for _, kind, _ in alone] == ["step", "user"]


def diff_of(agents: Agents, step: str, *only: bytes) -> bytes:
    return b"".join(agents.bench.workspace.net_changes.step(step, only, Call()))


def test_git_applies_the_diff_of_a_step(tmp_path: Path) -> None:
    before = {
        "both": text(),
        "café/old name": text(l1=b"moved"),
        "gone": b"without end",
        "empty": b"",
        "run": b"x\n",
        "link": Symlink("both"),
        "latin": b"caf\xe9\n",
    }
    agents = at_work(tmp_path, before)
    bench = agents.bench
    agents.start("s")
    step = agents.begin("s")
    os.rename(bench.path("café/old name"), bench.path("new\tname"))
    bench.write(
        {"new\tname": text(l1=b"moved", l9=b"nine"), "both": text(l2=b"two"), "come": b"", "latin": b"th\xe9\n"}
    )
    bench.write({"run": Executable(b"x\n"), "link": Symlink("run")})
    for name in ("gone", "empty"):
        os.unlink(bench.path(name))
    after = {name: item for name, item in bench.read().items() if item is not None}
    agents.end(step)
    # what others do since is not the step's
    bench.write({"both": text(l2=b"two", l15=b"mine"), "theirs": b"x"})
    for state in ("applied", "undone"):
        if state == "undone":
            agents.undo("s", step=step)
        patch = diff_of(agents, step)
        assert b'rename from "caf\\303\\251/old name"\nrename to "new\\tname"\n' in patch
        copy = tmp_path / state
        write(copy, before)
        run_git(copy, "init", "-q")
        run_git(copy, "apply", "--whitespace=nowarn", "-", input=patch)
        assert {name: item for name, item in read(copy).items() if item is not None} == after
    assert diff_of(agents, step, b"both").count(b"diff --git") == 1
    assert diff_of(agents, step, "café".encode()) == diff_of(agents, step, b"new\tname")
    assert diff_of(agents, step, b"theirs") == b""
    with pytest.raises(UnknownStep):
        diff_of(agents, "0" * 16)
