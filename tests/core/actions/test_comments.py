"""Comments on lines: who is to hear of them, where their lines are, and what is told once."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from snapd.core.answers import CommentView
from snapd.model.call import Call
from snapd.model.errors import FileNotInSnapshot, InvalidParams, UnknownComment, UnknownSession
from snapd.model.timeline import CommentState
from tests.support.amounts import amount
from tests.support.sessions import Agents, at_work


class Commenter:
    """Somebody who comments on files, through the core's own objects."""

    def __init__(self, agents: Agents) -> None:
        self.agents = agents

    def say(self, name: str, start: int, count: int = 1, text: str = "no", session: str | None = None) -> CommentView:
        comments = self.agents.bench.workspace.comments
        return comments.add(os.fsencode(name), (start, count), text, session, None, Call())

    def listed(self, name: str | None = None, state: CommentState | None = "open") -> tuple[CommentView, ...]:
        path = None if name is None else os.fsencode(name)
        return self.agents.bench.workspace.comments.page(path, None, state, Call()).views

    def place(self, view: CommentView) -> tuple[str, int, int, bool]:
        comments = self.agents.bench.workspace.comments
        place = comments.view(comments.known(view.comment.made.comment_id), Call()).place
        return os.fsdecode(place.path), place.start, place.count, place.outdated

    def news(self, session: str) -> tuple[list[str], str]:
        """The comments that an agent is to hear, and the id of the news."""
        news = self.agents.bench.workspace.news.take_news(session, Call())
        return [view.comment.made.text for view in news.comments], news.news_id

    def heard(self, session: str) -> list[str]:
        texts, news_id = self.news(session)
        self.agents.bench.workspace.news.acknowledge(session, news_id, Call())
        return texts

    def reply(self, view: CommentView, text: str, by: str | None = None) -> CommentView:
        return self.agents.bench.workspace.comments.reply(view.comment.made.comment_id, text, by, Call())

    def resolve(self, view: CommentView, state: CommentState = "resolved", by: str | None = None) -> CommentView:
        return self.agents.bench.workspace.comments.resolve(view.comment.made.comment_id, state, by, Call())


@pytest.fixture
def commenter(tmp_path: Path) -> Commenter:
    agents = at_work(tmp_path, {"a.txt": b"1\n2\n3\n", "empty": b"", "binary": b"\0\1"})
    for session in ("s", "t"):
        agents.start(session)
    return Commenter(agents)


def write(commenter: Commenter, session: str, name: str, text: str) -> str:
    return commenter.agents.step(session, lambda: commenter.agents.bench.write({name: text.encode()}))


def test_a_comment_is_for_whoever_wrote_most_of_the_lines(commenter: Commenter) -> None:
    first = write(commenter, "s", "a.txt", "1\ns\n2\n3\n")
    second = write(commenter, "t", "a.txt", "1\ns\nt\nt\n2\n3\n")
    mostly = commenter.say("a.txt", 2, 3)
    assert (mostly.comment.made.session_id, mostly.comment.made.step_id) == ("t", second)
    assert mostly.lines == b"s\nt\nt\n"
    named = commenter.say("a.txt", 2, 3, session="s")
    assert (named.comment.made.session_id, named.comment.made.step_id) == ("s", first)
    nobodys = commenter.say("a.txt", 5)
    assert (nobodys.comment.made.session_id, nobodys.comment.made.step_id) == (None, None)
    assert [view.comment.made.session_id for view in commenter.listed("a.txt")] == ["t", "s", None]


def test_the_place_follows_the_lines(commenter: Commenter) -> None:
    step = write(commenter, "s", "a.txt", "1\nx\ny\n2\n3\n")
    view = commenter.say("a.txt", 2, 2)
    other = write(commenter, "t", "a.txt", "new\n1\nx\nbetween\ny\n2\n3\n")
    assert commenter.place(view) == ("a.txt", 3, 3, False)
    commenter.agents.undo("t", step=other)
    assert commenter.place(view) == ("a.txt", 2, 2, False)
    write(commenter, "t", "a.txt", "new\n1\nx\ny\n2\n3\n")
    os.rename(commenter.agents.bench.root / "a.txt", commenter.agents.bench.root / "b.txt")
    assert commenter.place(view) == ("b.txt", 3, 2, False)
    assert commenter.listed("a.txt") == commenter.listed("b.txt") != ()
    commenter.agents.undo("s", step=step)
    assert commenter.place(view) == ("b.txt", 3, 2, True)
    commenter.agents.redo("s")
    assert commenter.place(view) == ("b.txt", 3, 2, False)
    commenter.agents.bench.reopen()
    assert commenter.place(view) == ("b.txt", 3, 2, False)


def test_a_version_that_comes_back_has_the_lines_again(commenter: Commenter) -> None:
    view = commenter.say("a.txt", 2)
    # by hand, as a checkout does
    commenter.agents.bench.write({"a.txt": b"other\n"})
    assert commenter.place(view) == ("a.txt", 2, 1, True)
    commenter.agents.bench.track()
    commenter.agents.bench.write({"a.txt": b"1\n2\n3\n"})
    assert commenter.place(view) == ("a.txt", 2, 1, False)
    (commenter.agents.bench.root / "a.txt").unlink()
    assert commenter.place(view) == ("a.txt", 2, 1, True)


def test_what_cannot_be_commented_on(commenter: Commenter) -> None:
    for name, lines in (("binary", (1, 1)), ("empty", (1, 1)), ("a.txt", (3, 2))):
        with pytest.raises(InvalidParams):
            commenter.say(name, *lines)
    for text in ("", " \n", "x" * 10_001):
        with pytest.raises(InvalidParams, match="text"):
            commenter.say("a.txt", 1, text=text)
    with pytest.raises(FileNotInSnapshot):
        commenter.say("missing", 1)
    with pytest.raises(UnknownSession):
        commenter.say("a.txt", 1, session="nobody")
    with pytest.raises(UnknownComment):
        commenter.agents.bench.workspace.comments.known("nothing")
    assert commenter.listed() == ()


def test_an_agent_hears_of_each_comment_until_it_is_acknowledged(commenter: Commenter) -> None:
    write(commenter, "s", "a.txt", "s\ns\n")
    one = commenter.say("a.txt", 1, text="one")
    assert commenter.news("t")[0] == []
    assert commenter.news("s")[0] == ["one"]
    commenter.agents.bench.reopen()
    texts, news_id = commenter.news("s")
    commenter.say("a.txt", 2, text="two")
    commenter.agents.bench.workspace.news.acknowledge("s", news_id, Call())
    assert texts == ["one"]
    assert commenter.heard("s") == ["two"]
    assert commenter.heard("s") == []
    # its own words are not told, but those of a person, and that the comment is open again
    commenter.reply(one, "done", by="s")
    assert commenter.heard("s") == []
    assert [reply.text for reply, _ in commenter.reply(one, "no").comment.replies] == ["done", "no"]
    commenter.resolve(one)
    assert commenter.heard("s") == []
    commenter.resolve(one, "open")
    commenter.resolve(one, "open")
    assert commenter.heard("s") == ["one"]
    assert [view.comment.state for view in commenter.listed(state=None)] == ["open", "open"]
    with pytest.raises(InvalidParams, match="newsId"):
        commenter.agents.bench.workspace.news.acknowledge("s", "10000", Call())


def test_more_than_fits_is_told_in_parts(commenter: Commenter) -> None:
    write(commenter, "s", "a.txt", "s\n")
    for number in range(3):
        commenter.say("a.txt", 1, text=f"{number}" * 4000)
    assert [text[0] for _ in range(4) for text in commenter.heard("s")] == ["0", "1", "2"]


def test_a_comment_changes_neither_undo_nor_redo(commenter: Commenter) -> None:
    write(commenter, "s", "a.txt", "s\n")
    commenter.agents.undo("s")
    view = commenter.say("a.txt", 1, session="s")
    commenter.reply(view, "well")
    assert commenter.agents.counts("s") == (0, 1)
    assert commenter.agents.redo("s") == {"a.txt": "restored"}


def test_a_purge_removes_a_comment_and_the_lines_of_a_file(commenter: Commenter) -> None:
    secret = commenter.say("a.txt", 1, text="the secret is hunter2")
    commenter.reply(secret, "hunter2 indeed")
    stays = commenter.say("a.txt", 2, text="stays")
    upkeep = commenter.agents.bench.workspace.upkeep
    assert upkeep.purge([], False, Call(), comments=[secret.comment.made.comment_id]).comments == 1
    assert [view.comment.made.text for view in commenter.listed(state=None)] == ["stays"]
    commenter.agents.bench.remove("a.txt")
    upkeep.purge([b"a.txt"], False, Call())
    (left,) = commenter.listed()
    assert (left.comment.made.comment_id, left.lines) == (stays.comment.made.comment_id, b"")
    with pytest.raises(UnknownComment, match="no comment"):
        upkeep.purge([], False, Call(), comments=["nothing"])


def test_a_comment_to_nobody_lasts_until_it_is_resolved_and_the_retention_is_over(commenter: Commenter) -> None:
    write(commenter, "s", "a.txt", "1\n2\n3\ns\n")
    nobodys = commenter.say("a.txt", 1, text="to nobody")
    commenter.say("a.txt", 4, text="to s")
    workspace = commenter.agents.bench.workspace
    # the newest events stay in any case, and what goes with them
    write(commenter, "t", "b.txt", "b\n")
    for session in ("s", "t"):
        workspace.sessions.end(session, Call())
    workspace.upkeep.cleanup(-1, Call())
    assert [(view.comment.made.text, view.lines) for view in commenter.listed()] == [("to nobody", b"1\n")]
    commenter.resolve(nobodys)
    assert len(commenter.listed(state=None)) == 1
    commenter.agents.start("u")
    workspace.upkeep.cleanup(-1, Call())
    assert commenter.listed(state=None) == ()


@pytest.mark.parametrize("seed", range(amount(6, 300)))
def test_random_histories(tmp_path: Path, seed: int) -> None:
    """Every line is unique: those that were commented on are where the file has them."""
    random = Random(seed)
    names = ["a", "b", "c"]
    numbers = iter(range(1_000_000))
    agents = at_work(tmp_path, {name: b"".join(b"%d\n" % next(numbers) for _ in range(6)) for name in names})
    commenter = Commenter(agents)
    root = agents.bench.root
    for session in ("s", "t", "u"):
        agents.start(session)
    comments: dict[str, tuple[CommentView, set[bytes], str]] = {}

    def edit() -> None:
        name = random.choice(names)
        if random.random() < 0.15:
            # with edits at the same time, it might be another file
            names[names.index(name)] = renamed = f"{name}{next(numbers)}"
            os.rename(root / name, root / renamed)
            return
        lines = (root / name).read_bytes().splitlines(keepends=True)
        for _ in range(random.randint(1, 3)):
            at = random.randint(0, len(lines))
            lines[at : at + random.choice((0, 0, 1, 3))] = [
                b"%d\n" % next(numbers) for _ in range(random.randint(0, 3))
            ]
        (root / name).write_bytes(b"".join(lines))

    for _ in range(14):
        what = random.choice(("step", "step", "user", "undo", "redo", "comment", "comment"))
        if what == "step":
            agents.step(random.choice("st"), edit)
        elif what == "user":
            edit()
            # what a person does between two events is one change
            agents.step("u", {})
        elif what in ("undo", "redo"):
            session = random.choice("st")
            undoable, redoable = agents.counts(session)
            if undoable and what == "undo":
                agents.undo(session)
            if redoable and what == "redo":
                agents.redo(session)
        else:
            name = random.choice(names)
            lines = (root / name).read_bytes().splitlines(keepends=True) if (root / name).exists() else []
            if lines:
                start = random.randint(1, len(lines))
                count = random.randint(1, len(lines) - start + 1)
                view = commenter.say(name, start, count, session=random.choice("st"))
                comments[view.comment.made.comment_id] = view, set(lines[start - 1 : start - 1 + count]), name
        # an undo may have moved them back
        names[:] = sorted(path.name for path in root.iterdir())
        for view, wanted, _ in comments.values():
            places = {
                name: [
                    at
                    for at, line in enumerate((root / name).read_bytes().splitlines(keepends=True), 1)
                    if line in wanted
                ]
                for name in names
            }
            found = {name: (at[0], at[-1] - at[0] + 1) for name, at in places.items() if at}
            name, start, count, outdated = commenter.place(view)
            if outdated:
                assert found == {}, (name, wanted)
            else:
                assert found == {name: (start, count)}


def test_a_version_that_no_event_recorded_comes_back(commenter: Commenter) -> None:
    view = commenter.say("a.txt", 2)
    bench = commenter.agents.bench
    bench.write({"a.txt": b"0\n1\n2\n3\n"})
    assert commenter.place(view) == ("a.txt", 3, 1, False)
    os.remove(bench.root / "a.txt")
    write(commenter, "s", "other", "x")
    assert commenter.place(view)[3]
    bench.write({"a.txt": b"0\n1\n2\n3\n"})
    assert commenter.place(view) == ("a.txt", 3, 1, False)


def test_as_many_as_fit_one_message_are_told_at_once(commenter: Commenter) -> None:
    write(commenter, "s", "a.txt", "ours\n")
    write(commenter, "s", "long", "row of text\n" * 5000)
    texts = ["\x1b" * 500, *(f"{number}" for number in range(90))]
    for text in texts:
        commenter.say("a.txt", 1, text=text)
    commenter.say("long", 1, 5000, "long")
    parts = []
    while part := commenter.heard("s"):
        parts.append(part)

    assert [text for part in parts for text in part] == [*texts, "long"]
    assert len(parts) > 2
    assert parts[-1] == ["long"]
