"""Comments travel with their session: there and read, what stays at home, and what counts as a continuation."""

from __future__ import annotations

from pathlib import Path

import pytest

from snapd.core.answers import CommentView
from snapd.model.call import Call
from snapd.sharing.push import PushOptions, SecretText
from tests.remotes.machines import bare
from tests.sharing.test_push_and_fetch import TOKEN, fetch, push
from tests.support.sessions import Agents, at_work


@pytest.fixture
def remote(tmp_path: Path) -> str:
    return str(bare(tmp_path / "remote"))


@pytest.fixture
def here(tmp_path: Path) -> Agents:
    agents = at_work(tmp_path / "here", {"a.txt": b"1\n2\n"}, git=True)
    agents.start("s")
    agents.step("s", {"a.txt": b"1\nnew\n2\n"})
    return agents


@pytest.fixture
def there(tmp_path: Path) -> Agents:
    return at_work(tmp_path / "there", {"other.txt": b"other\n"})


def comment(agents: Agents, line: int, text: str, name: bytes = b"a.txt") -> CommentView:
    return agents.bench.workspace.comments.add(name, (line, 1), text, "s", None, Call())


def read(agents: Agents) -> list[tuple[str, bytes, int, list[str]]]:
    """What another machine knows: text, lines, place and replies."""
    views = agents.bench.workspace.readers.of_session("s").comments.page(None, "s", None, Call()).views
    return [
        (
            view.comment.made.text,
            view.lines,
            view.place.start,
            [reply.text or "" for reply, _ in view.comment.replies],
        )
        for view in views
    ]


def test_there_and_read(here: Agents, there: Agents, remote: str) -> None:
    view = comment(here, 2, "why?")
    comment(here, 1, "and this?")
    here.step("s", {"a.txt": b"0\n1\nnew\n2\n"})
    push(here, remote)
    fetch(there, remote)
    assert read(there) == read(here) == [("why?", b"new\n", 3, []), ("and this?", b"1\n", 2, [])]
    # a reply alone is a continuation
    here.bench.workspace.comments.reply(view.comment.made.comment_id, "so", "s", Call())
    push(here, remote)
    assert fetch(there, remote) == ["s"]
    assert read(there)[0] == ("why?", b"new\n", 3, ["so"])
    # what the agent heard is known there, too: whoever takes the session over is not told again
    news = here.bench.workspace.news.take_news("s", Call())
    here.bench.workspace.news.acknowledge("s", news.news_id, Call())
    push(here, remote)
    fetch(there, remote)
    views = there.bench.workspace.readers.of_session("s").comments.page(None, "s", None, Call()).views
    assert [view.comment.due for view in views] == [None, None]


def test_what_stays_at_home(here: Agents, there: Agents, remote: str) -> None:
    comment(here, 2, "why?")
    push(here, remote, options=PushOptions(without_prompts=True))
    fetch(there, remote)
    assert read(there) == []


def test_the_lines_of_a_redacted_file_do_not_travel(here: Agents, there: Agents, remote: str) -> None:
    here.step("s", {"secret.txt": b"hunter2\n"})
    comment(here, 1, "rename it", b"secret.txt")
    push(here, remote, options=PushOptions(redact=(b"secret.txt",)))
    fetch(there, remote)
    assert read(there) == [("rename it", b"", 1, [])]


def test_a_likely_secret_in_a_comment_is_reported(here: Agents, remote: str) -> None:
    view = comment(here, 2, f"use {TOKEN}")
    plan = push(here, remote, options=PushOptions(dry_run=True))
    assert plan.secret_texts == (SecretText("comment", "s", comment_id=view.comment.made.comment_id),)
