"""What agents left pending: shown, kept and reverted, by file, by hunk, by who made it."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from snapd.core.actions.undo.steps import UndoRequest
from snapd.core.operations.runner import OperationOptions
from snapd.core.review.choice import Choice
from snapd.model.call import Call
from snapd.model.errors import FileChanged, InvalidParams
from snapd.store.repository import ShadowRepository
from snapd.store.timeline.database import NAME
from tests.support.sessions import TEXT, Agents, at_work, text
from tests.support.system_calls import observe
from tests.support.workspace import Executable, Symlink

from .reviewing import Reviewer


@pytest.fixture
def reviewer(agents: Agents) -> Reviewer:
    agents.start("two")
    return Reviewer(agents)


def test_nothing_is_pending_where_no_agent_worked(agents: Agents, reviewer: Reviewer) -> None:
    agents.bench.track()
    agents.bench.write({"a.txt": b"mine\n", "c": b"c\n"})
    assert reviewer.pending() == {}
    agents.step("one", lambda: None)
    agents.bench.write({"a.txt": b"mine again\n"})
    assert reviewer.pending() == {}
    with pytest.raises(InvalidParams, match=r"a\.txt has no pending changes"):
        reviewer.file("a.txt")


def test_hunks_of_two_agents_and_the_users_own(agents: Agents, reviewer: Reviewer) -> None:
    one = agents.step("one", {"a.txt": text(l2=b"one")})
    agents.bench.write({"a.txt": text(l2=b"one", l10=b"mine")})
    two = agents.step("two", {"a.txt": text(l2=b"one", l10=b"mine", l18=b"two")})
    assert reviewer.pending() == {"a.txt": ("modified", 2, 2)}
    assert reviewer.owners("a.txt") == [(one,), (two,)]
    shown = reviewer.file("a.txt")
    assert shown.before == text(l10=b"mine")
    assert shown.after == text(l2=b"one", l10=b"mine", l18=b"two")
    # one hunk is kept, the other reverted
    left = reviewer.keep("a.txt", hunks=(0,))
    assert [(file.owners, file.hunks) for file in left.files] == [((two,), 1)]
    assert reviewer.revert("a.txt", hunks=(0,)) == {"a.txt": "restored"}
    assert agents.bench.read()["a.txt"] == text(l2=b"one", l10=b"mine")
    assert reviewer.pending() == {}
    # both were the person's, and can be undone
    agents.bench.workspace.undo_steps.undo(UndoRequest(None, 1), OperationOptions("merge", False, False), Call())
    assert agents.bench.read()["a.txt"] == shown.after
    assert reviewer.owners("a.txt") == [(two,)]


def test_it_survives_a_restart(agents: Agents, reviewer: Reviewer) -> None:
    step = agents.step("one", {"a.txt": text(l2=b"one", l18=b"one"), "new": b"n\n"})
    reviewer.keep("a.txt", hunks=(1,))
    before = reviewer.page().files
    assert reviewer.owners("a.txt") == [(step,)]
    agents.bench.reopen()
    assert reviewer.page().files == before
    agents.bench.workspace.upkeep.check(Call(), quick=False)


def test_what_was_folded_is_not_folded_again(
    agents: Agents, reviewer: Reviewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents.step("one", {f"f{number}": text(l2=b"one") for number in range(8)})
    agents.bench.reopen()
    before = reviewer.page()
    agents.bench.reopen()
    read: list[object] = []
    observe(ShadowRepository, "read_small_blob", lambda *call: read.append(call), replace=monkeypatch.setattr)
    assert reviewer.page() == before
    assert not read
    # a file that changes again is, but no other
    agents.step("two", {"f3": text(l2=b"one", l9=b"two")})
    agents.bench.reopen()
    assert reviewer.page().count == 8
    assert len({oid for _, _, oid, _ in read}) == 2
    assert len(reviewer.owners("f3")[0]) == 2


def test_a_step_that_was_left_owns_more_when_it_ends_after_a_restart(agents: Agents, reviewer: Reviewer) -> None:
    left = agents.begin("one", client="c")
    agents.leave("c")
    step = agents.step("two", {"a.txt": text(l2=b"x")})
    agents.bench.reopen()
    assert reviewer.owners("a.txt") == [(step,)]
    agents.bench.reopen()
    agents.end(left)
    agents.bench.reopen()
    assert set(reviewer.page().files[0].owners) == {left, step}


def test_nothing_stays_of_what_expired(agents: Agents, reviewer: Reviewer) -> None:
    def kept() -> list[bytes]:
        agents.bench.close()
        with closing(sqlite3.connect(os.path.join(agents.bench.store, NAME))) as database:
            paths = [path for (path,) in database.execute("SELECT path FROM folds")]
        agents.bench.open()
        return paths

    agents.step("one", {"a.txt": text(l2=b"one")})
    agents.bench.reopen()
    assert reviewer.page().count == 1
    assert kept() == [b"a.txt"]
    agents.bench.workspace.sessions.end("one", Call())
    agents.step("two", {"b.txt": b"two\n"})
    assert agents.bench.workspace.upkeep.cleanup(0, Call())[0] > 0
    assert kept() == []


def test_files_that_came_went_and_moved(agents: Agents, reviewer: Reviewer) -> None:
    def work() -> None:
        agents.bench.write({"d/new": b"n\n", "link": Symlink("a.txt"), "bin": b"\0\1", "run": Executable(b"x\n")})
        agents.bench.remove("b.txt")
        os.rename(agents.bench.path("a.txt"), agents.bench.path("moved.txt"))

    before = agents.bench.read()
    agents.step("one", work)
    after = agents.bench.read()
    assert reviewer.pending() == {
        "b.txt": ("deleted", 0, 1),
        "bin": ("added", 0, 0),
        "d/new": ("added", 1, 0),
        "link": ("added", 1, 0),
        "moved.txt": ("modified", 0, 0),
        "run": ("added", 1, 0),
    }
    assert reviewer.file("moved.txt").file.summary.renamed_from == b"a.txt"
    expected_outcomes = reviewer.revert(dry_run=True)
    assert agents.bench.read() == after
    assert reviewer.revert() == expected_outcomes
    assert agents.bench.read() == before
    assert reviewer.pending() == {}


def test_the_text_of_a_link_is_its_target(agents: Agents, reviewer: Reviewer) -> None:
    agents.bench.write({"link": Symlink("a.txt")})
    agents.step("one", {"link": Symlink("b.txt"), "b.txt": Symlink("elsewhere")})
    shown = reviewer.file("link")
    assert (shown.before, shown.after, len(shown.hunks)) == (b"a.txt", b"b.txt", 1)
    # a file that became a link is not text on both sides
    assert reviewer.file("b.txt").hunks == ()
    assert reviewer.revert("link", hunks=(0,)) == {"link": "restored"}
    assert agents.bench.read()["link"] == Symlink("a.txt")
    agents.step("one", {"link": Symlink("b.txt")})
    reviewer.keep("link", hunks=(0,))
    assert "link" not in reviewer.pending()


def test_a_mode_is_pending_too(agents: Agents, reviewer: Reviewer) -> None:
    step = agents.step("one", {"b.txt": Executable(b"b\n")})
    shown = reviewer.file("b.txt")
    assert (shown.old_mode, shown.new_mode, shown.hunks, shown.file.owners) == (0o100644, 0o100755, (), (step,))
    reviewer.revert("b.txt")
    assert agents.bench.read()["b.txt"] == b"b\n"
    agents.step("one", {"b.txt": Executable(b"b\n")})
    reviewer.keep("b.txt")
    assert reviewer.pending() == {}


def test_an_undone_step_is_not_pending_and_a_redone_one_is(agents: Agents, reviewer: Reviewer) -> None:
    step = agents.step("one", {"a.txt": text(l2=b"one"), "new": b"n\n"})
    pending = reviewer.pending()
    agents.undo("one")
    assert reviewer.pending() == {}
    agents.redo("one")
    assert reviewer.pending() == pending
    assert reviewer.owners("a.txt") == [(step,)]
    # a change that was kept and undone is not pending the other way round
    reviewer.keep()
    agents.undo("one")
    assert reviewer.pending() == {}
    agents.redo("one")
    assert reviewer.pending() == pending


def test_an_undo_brings_back_what_was_pending(agents: Agents, reviewer: Reviewer) -> None:
    first = agents.step("one", {"a.txt": text(l2=b"one")})
    second = agents.step("one", {"a.txt": TEXT})
    assert reviewer.pending() == {}
    agents.undo("one", step=second)
    assert reviewer.owners("a.txt") == [(first,)]


def test_what_the_user_does_within_a_change_is_a_part_of_it(agents: Agents, reviewer: Reviewer) -> None:
    step = agents.step("one", {"a.txt": text(l4=b"one", l5=b"two", l6=b"three")})
    agents.bench.write({"a.txt": text(l4=b"one", l5=b"mine", l6=b"three")})
    assert reviewer.owners("a.txt") == [(step,)]
    assert reviewer.file("a.txt").before == TEXT
    # right below the change it is the user's own
    agents.bench.write({"a.txt": text(l4=b"one", l5=b"mine", l6=b"three", l7=b"below")})
    assert reviewer.file("a.txt").before == text(l7=b"below")
    reviewer.revert("a.txt")
    assert agents.bench.read()["a.txt"] == text(l7=b"below")


def test_by_step_and_by_session(agents: Agents, reviewer: Reviewer) -> None:
    one = agents.step("one", {"a.txt": text(l2=b"one"), "b.txt": b"one\n"})
    two = agents.step("two", {"a.txt": text(l2=b"one", l10=b"two"), "b.txt": b"two\n"})
    assert reviewer.owners("b.txt") == [(one, two)]
    of_two = Choice(is_owner=lambda step: step == two)
    assert [file.path for file in reviewer.page(of_two).files] == [b"a.txt", b"b.txt"]
    outcome = reviewer.reverted(of_two)
    assert [(file.path, file.outcome, file.reason) for file in outcome.files] == [
        (b"a.txt", "merged", None),
        (b"b.txt", "conflict", "shared"),
    ]
    assert agents.bench.read() == {"a.txt": text(l2=b"one"), "b.txt": b"two\n"}
    reviewer.reverted(of_two, "overwrite")
    assert agents.bench.read()["b.txt"] == b"b\n"
    assert reviewer.owners("a.txt") == [(one,)]


def test_what_was_shown_must_still_be_so(agents: Agents, reviewer: Reviewer) -> None:
    agents.step("one", {"a.txt": text(l2=b"one"), "b.txt": b"one\n"})
    shown = {file.path: file.id for file in reviewer.page().files}
    agents.bench.write({"a.txt": text(l2=b"one", l20=b"mine")})
    state = agents.bench.read()
    for name in ("a.txt", "b.txt"):
        with pytest.raises(FileChanged, match=r"a\.txt has changed since it was shown"):
            reviewer.keep(name, expect=shown)
    with pytest.raises(FileChanged):
        reviewer.reverted(Choice(expect=shown))
    assert agents.bench.read() == state
    assert set(reviewer.pending()) == {"a.txt", "b.txt"}
    assert reviewer.keep("b.txt", expect={b"b.txt": shown[b"b.txt"]}).count == 0


def test_bad_choices(agents: Agents, reviewer: Reviewer) -> None:
    agents.step("one", {"a.txt": text(l2=b"one")})
    for hunks, wrong in (((1,), "no hunk 1"), ((0, 0), "named twice")):
        with pytest.raises(InvalidParams, match=wrong):
            reviewer.keep("a.txt", hunks=hunks)
        with pytest.raises(InvalidParams, match=wrong):
            reviewer.revert("a.txt", hunks=hunks)
    with pytest.raises(InvalidParams, match=r"b\.txt has no pending changes"):
        reviewer.keep("a.txt", "b.txt")
    assert reviewer.pending() == {"a.txt": ("modified", 1, 1)}


def test_pages(agents: Agents, reviewer: Reviewer) -> None:
    agents.step("one", dict.fromkeys("cdefg", b"1\n2\n"))
    first = reviewer.page(limit=2)
    assert ([file.path for file in first.files], first.after, first.count, first.additions) == (
        [b"c", b"d"],
        b"d",
        5,
        10,
    )
    last = reviewer.page(after=b"f", limit=2)
    assert ([file.path for file in last.files], last.after, last.count) == ([b"g"], None, 5)


def test_an_open_step_is_pending_and_may_say_that_it_was_not(agents: Agents, reviewer: Reviewer) -> None:
    step = agents.begin("one")
    agents.bench.write({"a.txt": text(l2=b"one"), "b.txt": b"user\n"})
    assert set(reviewer.pending()) == {"a.txt", "b.txt"}
    # an event in between, so that the changes are recorded while nobody knows whose they are
    agents.end(agents.begin("two"), [])
    agents.end(step, ["a.txt"])
    assert set(reviewer.pending()) == {"a.txt"}
    assert reviewer.blame("b.txt") == [("user", 1)]


def test_who_wrote_which_line(agents: Agents, reviewer: Reviewer) -> None:
    tree = agents.bench.track()
    assert reviewer.blame("a.txt") == [("before", 20)]
    one = agents.step("one", {"a.txt": text(l2=b"one", l3=b"one")})
    agents.bench.write({"a.txt": text(l2=b"one", l3=b"one", l10=b"mine")})
    later = agents.bench.track()
    agents.step("one", lambda: os.rename(agents.bench.path("a.txt"), agents.bench.path("c.txt")))
    two = agents.step("two", {"c.txt": b"two\n" + text(l2=b"one", l3=b"one", l10=b"mine")})
    expected = [(two, 1), ("before", 1), (one, 2), ("before", 6), ("user", 1), ("before", 10)]
    assert reviewer.blame("c.txt") == expected
    agents.undo("two", step=two)
    assert reviewer.blame("c.txt") == expected[1:]
    agents.undo("one", step=one)
    agents.redo("two")
    agents.redo("one")
    assert reviewer.blame("c.txt") == expected
    assert reviewer.blame("a.txt", tree) == [("before", 20)]
    assert reviewer.blame("a.txt", later) == expected[1:]
    agents.bench.reopen()
    assert reviewer.blame("c.txt") == expected


def test_what_expired_is_pending_no_more(agents: Agents, reviewer: Reviewer) -> None:
    agents.step("one", {"a.txt": text(l2=b"one"), "b.txt": b"one\n"})
    reviewer.keep("b.txt")
    agents.bench.workspace.sessions.end("one", Call())
    later = agents.step("two", {"a.txt": text(l2=b"one", l18=b"two")})
    assert len(reviewer.owners("a.txt")) == 2
    # the session that ended goes with what was kept of it, and the other stays
    agents.bench.workspace.upkeep.cleanup(0, Call())
    assert reviewer.owners("a.txt") == [(later,)]
    assert reviewer.file("a.txt").before == text(l2=b"one")
    assert reviewer.blame("a.txt") == [("before", 17), (later, 1), ("before", 2)]
    agents.bench.reopen()
    assert reviewer.owners("a.txt") == [(later,)]
    assert agents.bench.workspace.upkeep.check(Call(), quick=False).problems == ()


def test_what_was_purged_is_shown_nowhere(agents: Agents, reviewer: Reviewer) -> None:
    step = agents.step("one", {"key": b"secret one\nline\n", "a.txt": text(l2=b"one")})
    agents.step("two", {"key": b"secret one\nline\nsecret two\n"})
    reviewer.keep("key")
    agents.step("two", {"key": b"secret three\n"})
    assert set(reviewer.pending()) == {"a.txt", "key"}
    agents.bench.remove("key")
    agents.bench.workspace.upkeep.purge([b"key"], False, Call())
    for _ in range(2):
        page = reviewer.page()
        assert [file.path for file in page.files] == [b"a.txt"]
        shown = reviewer.file("a.txt")
        assert b"secret" not in shown.before + shown.after
        assert reviewer.owners("a.txt") == [(step,)]
        agents.bench.reopen()
    assert agents.bench.workspace.upkeep.check(Call(), quick=False).problems == ()


def owners(reviewer: Reviewer) -> dict[str, tuple[str, ...]]:
    """Whose the pending changes of each file are."""
    return {os.fsdecode(file.path): file.owners for file in reviewer.page().files}


def test_what_a_restore_brings_back_is_as_it_was(agents: Agents, reviewer: Reviewer) -> None:
    """Lines of an agent that were pending are pending again, what was kept stays kept, and so does the user's own."""
    bench = agents.bench
    first = agents.step("one", {"a.txt": text(l2=b"kept")})
    reviewer.keep()
    clean = bench.track()
    bench.write({"a.txt": text(l2=b"kept", l18=b"user")})
    step = agents.step("one", {"a.txt": text(l2=b"kept", l10=b"A", l18=b"user"), "new": b"n\n"})
    pending, blamed = reviewer.page(), reviewer.blame("a.txt")
    full = bench.track()
    bench.restore(clean)
    assert reviewer.pending() == {}
    bench.restore(full)
    assert owners(reviewer) == {"a.txt": (step,), "new": (step,)}
    assert reviewer.page().files == pending.files
    assert reviewer.blame("a.txt") == blamed
    assert first in {who for who, _ in blamed}
    # a revert of files is no other operation
    bench.restore(clean)
    bench.revert((full, ["a.txt"]))
    assert owners(reviewer) == {"a.txt": (step,)}


def test_a_restore_does_a_deletion_of_an_agent_again(agents: Agents, reviewer: Reviewer) -> None:
    bench = agents.bench
    before = bench.track()
    step = agents.step("one", {"a.txt": TEXT.replace(b"10\n", b"", 1)})
    pending, full = reviewer.page(), bench.track()
    bench.restore(before)
    assert reviewer.pending() == {}
    bench.restore(full)
    assert owners(reviewer) == {"a.txt": (step,)}
    assert reviewer.page().files == pending.files


def test_a_restore_brings_back_a_deleted_file_of_an_agent(agents: Agents, reviewer: Reviewer) -> None:
    bench = agents.bench
    step = agents.step("one", {"new": b"1\n2\n"})
    full = bench.track()
    agents.undo("one", step=step)
    agents.step("one", {"b.txt": b"later\n"})
    bench.restore(full)
    assert owners(reviewer)["new"] == (step,)


def test_a_restore_of_what_is_no_text(tmp_path: Path) -> None:
    """A binary file, an empty one, a mode and a move have no lines to know them by."""
    agents = at_work(tmp_path, {"bin": b"\0\1", "mode": b"m\n", "old": TEXT})
    reviewer, bench = Reviewer(agents), agents.bench
    before = bench.track()

    def work() -> None:
        bench.write({"bin": b"\0\2", "mode": Executable(b"m\n"), "empty": b""})
        (bench.root / "old").rename(bench.root / "moved")

    agents.step("one", work)
    pending, full = reviewer.page(), bench.track()
    assert len(pending.files) == 4
    bench.restore(before)
    assert reviewer.pending() == {}
    bench.restore(full)
    assert reviewer.page().files == pending.files
