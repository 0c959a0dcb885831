"""Who wrote the lines of a text that a file had, such as that of a commit: each line says who wrote it."""

from __future__ import annotations

import os
import time
from pathlib import Path
from random import Random

import pytest

from snapd.core.actions.review.blame import DatedText
from snapd.model.call import Call
from snapd.model.errors import InvalidParams
from tests.support.amounts import amount
from tests.support.sessions import TEXT, Agents, text

from .test_review_random import NAMES, History

pytestmark = pytest.mark.slow


def blamed(agents: Agents, name: str, data: bytes, when: int | None = None) -> list[tuple[str, int]]:
    """Who wrote the lines of a text, as a step or a word, and how many."""
    found = agents.bench.workspace.text_blame.lines(os.fsencode(name), DatedText(data, when), None, Call())
    return [(each.writer.steps[0] if each.writer.steps else each.writer.kind, each.count) for each in found]


def now() -> int:
    return time.time_ns() // 1_000_000


def test_an_earlier_text_of_a_file(agents: Agents) -> None:
    one = agents.step("one", {"a.txt": text(l2=b"one")})
    agents.bench.write({"a.txt": text(l2=b"one", l10=b"mine")})
    two = agents.step("one", {"a.txt": text(l2=b"two", l10=b"mine")})
    assert blamed(agents, "a.txt", TEXT) == [("before", 20)]
    assert blamed(agents, "a.txt", text(l2=b"one")) == [("before", 1), (one, 1), ("before", 18)]
    later = [("before", 1), (two, 1), ("before", 7), ("user", 1), ("before", 10)]
    assert blamed(agents, "a.txt", text(l2=b"two", l10=b"mine")) == later
    # what the user did since the last event is there, too
    agents.bench.write({"a.txt": text(l2=b"two", l10=b"mine", l20=b"more")})
    expected = [("before", 1), (two, 1), ("before", 17), ("user", 1)]
    assert blamed(agents, "a.txt", text(l2=b"two", l20=b"more")) == expected
    assert blamed(agents, "a.txt", text(l2=b"nobody")) == [("before", 1), ("unknown", 1), ("before", 18)]


def test_what_is_typed_between_the_first_snapshot_and_the_first_step_is_the_users(agents: Agents) -> None:
    agents.bench.track()
    agents.bench.write({"a.txt": text(l10=b"mine")})
    agents.bench.track()
    one = agents.step("one", {"a.txt": text(l2=b"one", l10=b"mine")})
    expected = [("before", 1), (one, 1), ("before", 7), ("user", 1), ("before", 10)]
    assert blamed(agents, "a.txt", text(l2=b"one", l10=b"mine")) == expected


def test_a_file_that_nobody_changed_or_that_never_was(agents: Agents) -> None:
    agents.step("one", {"c.txt": b"c\n"})
    assert blamed(agents, "b.txt", b"b\nx\n") == [("before", 1), ("unknown", 1)]
    assert blamed(agents, "never", b"x\n") == [("unknown", 1)]


def test_a_file_that_is_gone_and_one_that_has_its_name(agents: Agents) -> None:
    one = agents.step("one", {"a.txt": text(l2=b"one")})
    agents.step("one", lambda: os.rename(agents.bench.path("a.txt"), agents.bench.path("c.txt")))
    two = agents.step("one", {"c.txt": text(l2=b"one", l3=b"two")})
    other = agents.step("one", {"a.txt": b"another\nfile\n"})
    expected = [("before", 1), (one, 1), ("before", 18)]
    assert blamed(agents, "a.txt", text(l2=b"one")) == expected
    assert blamed(agents, "a.txt", b"another\nfile\n") == [(other, 2)]
    assert blamed(agents, "c.txt", text(l2=b"one")) == expected
    agents.bench.remove("a.txt")
    agents.step("one", lambda: os.rename(agents.bench.path("c.txt"), agents.bench.path("a.txt")))
    # under this name, there were two files, one of them twice
    assert blamed(agents, "a.txt", b"another\nfile\n") == [(other, 2)]
    assert blamed(agents, "a.txt", text(l2=b"one", l3=b"two")) == [("before", 1), (one, 1), (two, 1), ("before", 17)]
    agents.bench.remove("a.txt")
    agents.step("one", lambda: None)
    assert blamed(agents, "a.txt", text(l2=b"one")) == expected


def test_what_was_moved_since_the_last_event(agents: Agents) -> None:
    one = agents.step("one", {"a.txt": text(l2=b"one")})
    os.rename(agents.bench.path("a.txt"), agents.bench.path("d.txt"))
    assert blamed(agents, "d.txt", text(l2=b"one")) == [("before", 1), (one, 1), ("before", 18)]
    assert blamed(agents, "a.txt", text(l2=b"one")) == [("before", 1), (one, 1), ("before", 18)]

    # to where another file was before
    agents.bench.remove("b.txt")
    other = agents.step("one", {"b.txt": b"other\n"})
    agents.bench.remove("b.txt")
    agents.step("one", lambda: None)
    os.rename(agents.bench.path("d.txt"), agents.bench.path("b.txt"))
    assert blamed(agents, "b.txt", text(l2=b"one")) == [("before", 1), (one, 1), ("before", 18)]
    assert blamed(agents, "b.txt", b"other\n") == [(other, 1)]


def test_files_that_take_turns_at_a_name(agents: Agents) -> None:
    """Each version is compared once, although each file has replaced the other several times."""
    one = agents.step("one", {"a.txt": text(l2=b"one")})
    two = agents.step("one", {"b.txt": b"two\n"})
    for _ in range(3):
        for old, new in (("a.txt", "c"), ("b.txt", "a.txt"), ("c", "b.txt")):
            agents.step("one", lambda old=old, new=new: os.rename(agents.bench.path(old), agents.bench.path(new)))
    for name in ("a.txt", "b.txt"):
        assert blamed(agents, name, text(l2=b"one")) == [("before", 1), (one, 1), ("before", 18)]
        assert blamed(agents, name, b"two\n") == [(two, 1)]


def test_what_went_away_and_came_back(agents: Agents) -> None:
    """As a branch that somebody left and came back to: the time of the commit says whose it was then."""
    one = agents.step("one", {"a.txt": text(l2=b"one")})
    committed = now()
    agents.bench.write({"a.txt": TEXT})
    agents.step("one", lambda: None)
    agents.bench.write({"a.txt": text(l2=b"one")})
    agents.step("one", lambda: None)
    agents.step("one", {"b.txt": b"other\n"})
    assert blamed(agents, "a.txt", text(l2=b"one"), committed - 1000)[1] == (one, 1)
    assert blamed(agents, "a.txt", text(l2=b"one"), now() + 1000)[1] == ("user", 1)


def test_after_an_undo(agents: Agents) -> None:
    one = agents.step("one", {"a.txt": text(l2=b"one", l15=b"one")})
    agents.undo("one", step=one)
    assert blamed(agents, "a.txt", text(l2=b"one")) == [("before", 1), (one, 1), ("before", 18)]
    agents.redo("one")
    # one of two hunks was committed
    assert blamed(agents, "a.txt", text(l15=b"one")) == [("before", 14), (one, 1), ("before", 5)]


def test_what_is_left_of_an_expired_history(agents: Agents) -> None:
    agents.step("one", {"a.txt": text(l2=b"one")})
    agents.bench.workspace.sessions.end("one", Call())
    agents.start("two")
    two = agents.step("two", {"a.txt": text(l2=b"one", l18=b"two")})
    agents.start("three")
    agents.step("three", {"a.txt": text(l2=b"one", l4=b"three", l18=b"two")})
    agents.bench.workspace.sessions.end("three", Call())
    agents.step("two", {"a.txt": text(l2=b"one", l4=b"two", l18=b"two")})
    agents.bench.workspace.upkeep.cleanup(0, Call())
    assert blamed(agents, "a.txt", text(l2=b"one", l18=b"two")) == [("before", 17), (two, 1), ("before", 2)]
    # whose step it was is not known any more, and that it was there still is
    later = text(l2=b"one", l4=b"three", l18=b"two")
    assert blamed(agents, "a.txt", later) == [("before", 17), (two, 1), ("before", 2)]


@pytest.mark.parametrize("data", [b"\0", b"x" * (10 * 1024 * 1024 + 1)])
def test_what_is_no_text(agents: Agents, data: bytes) -> None:
    with pytest.raises(InvalidParams, match=r"content: not a text of a\.txt"):
        blamed(agents, "a.txt", data)


def test_only_some_lines(agents: Agents) -> None:
    step = agents.step("one", {"a.txt": text(l2=b"one", l3=b"one")})

    def asked(first: int, count: int) -> list[tuple[int, int, str]]:
        given = DatedText(text(l2=b"one", l3=b"one"), None)
        found = agents.bench.workspace.text_blame.lines(b"a.txt", given, (first, count), Call())
        return [(each.start, each.count, "".join(each.writer.steps)) for each in found]

    assert asked(3, 2) == [(3, 1, step), (4, 1, "")]
    with pytest.raises(InvalidParams, match=r"range: a\.txt has 20 lines"):
        asked(3, 19)


@pytest.mark.parametrize("seed", range(amount(6, 200, "SNAPD_REVIEW_SEEDS")))
def test_each_text_of_a_long_history(tmp_path: Path, seed: int) -> None:
    """What a step left, and parts of that, whatever happened since to the file and to its names."""
    history = History(tmp_path, Random(seed))
    texts = []
    for _ in range(20):
        acting = (history.user, history.step, history.undo, history.redo, history.restore, history.track)
        history.chance.choice(acting)()
        # what was there at an event
        history.step()
        items = history.bench.read()
        history.taken |= items.keys()
        texts += [(name, data, now()) for name in NAMES if isinstance(data := items.get(name), bytes)]
    sessions = history.bench.workspace.sessions
    for name, data, when in texts:
        lines = data.splitlines(keepends=True)
        part = [line for line in lines if history.chance.randrange(3)]
        for asked in (lines, part):
            found = []
            for who, count in blamed(history.agents, name, b"".join(asked), when):
                is_step = who not in ("user", "before", "unknown")
                found += [sessions.known_step(who).session_id if is_step else who] * count
            assert found == [line.split()[0].decode() for line in asked], (name, when)
