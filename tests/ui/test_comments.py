"""Comments on the review screen, made, answered and resolved by key, against a real daemon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from textual.widgets import Input

from snapd.cli.ui.comments import Field
from tests.cli.steps import numbered, put

from .test_view import take
from .view import shown

if TYPE_CHECKING:
    from snapd_client import Client

    from .view import Review

pytestmark = pytest.mark.slow

CHANGED = numbered(40, l3=b"three\nmore", l30=b"thirty")


def comments(client: Client, state: str = "open") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.request("review/comments", {"state": state})["comments"]
    return found


def said(view: Review) -> list[str]:
    """The lines of comments."""
    return [line.text for line in view.app.review.changes.lines if line.kind == "comment"]


async def say(view: Review, text: str) -> None:
    await view.until(lambda: isinstance(view.app.screen, Field), "the field")
    view.app.screen.query_one(Input).value += text
    await view.press("enter")


async def test_a_comment_and_its_replies(client: Client, project: str) -> None:
    take(client, project, {"basket.py": CHANGED})
    async with shown(project) as history:
        view = await history.review()
        await view.until(lambda: len(view.diff) > 1, "the hunks")
        await view.press("c")
        await view.until(lambda: "no line of a file is selected" in view.message, "the error")
        # on the head of a hunk: all that it added
        await view.press("n", "c")
        await say(view, "use the helper")
        await view.until(lambda: "Commented." in view.messages, "the outcome")
        (made,) = comments(client)
        assert (made["start"], made["count"], made["lines"]) == (4, 2, "three\nmore\n")
        texts = ["comment on lines 4 to 5, for Claude Code, not told yet", "  you: use the helper"]
        await view.until(lambda: said(view) == texts, "the comment")
        assert view.diff[view.diff.index(texts[0]) - 1] == "+more"
        await view.until(lambda: view.rows[1] == "M basket.py +3 -2  Claude Code  1 comment", "the number")
        # what others do is seen at once
        news = client.request("session/news", {"sessionId": "S"})
        client.request("session/told", {"sessionId": "S", "newsId": news["newsId"]})
        reply = {"replyTo": made["commentId"], "text": "done\n\x1b[31mred", "by": "S"}
        client.request("review/comment", reply)
        texts = [texts[0].replace("not told yet", "told"), texts[1], "  Claude Code: done", "    \\x1b[31mred"]
        await view.until(lambda: said(view) == texts, "the reply")
        at = view.diff.index(texts[0])
        await view.press(*["j"] * (at - view.app.review.changes.cursor))
        await view.press("r")
        await say(view, "thanks")
        await view.until(lambda: said(view) == [*texts, "  you: thanks"], "another reply")
        await view.press("x")
        await view.until(lambda: said(view) == [], "that it is resolved")
        assert f"--reopen {made['commentId'][:8]}" in view.message
        assert [each["state"] for each in comments(client, "all")] == ["resolved"]
        await view.press("x")
        await view.until(lambda: "no comment is at the cursor" in view.message, "the error")


async def test_where_comments_are(client: Client, project: str) -> None:
    take(client, project, {"basket.py": CHANGED, "other.txt": b"a\nb\n"})
    for file, start in (("basket.py", 1), ("basket.py", 20), ("basket.py", 33), ("other.txt", 2)):
        client.request("review/comment", {"file": file, "start": start, "text": f"at {start}"})
    client.request("review/keep", {"files": ["other.txt"]})
    async with shown(project) as history:
        view = await history.review()
        await view.until(lambda: len(said(view)) > 0, "the comments")
        # a line that is not shown is quoted, after the last one before it
        at = view.diff.index("comment on line 20, for no agent")
        lines = [" 6", "comment on line 20, for no agent", "  | 18", "  you: at 20", "hunk 2 of 2, by Claude Code"]
        assert view.diff[at - 1 : at + 4] == lines
        at = view.diff.index("comment on line 33, for no agent")
        assert view.diff[at - 1 : at + 2] == [" 31", "comment on line 33, for no agent", "  you: at 33"]
        await view.press("g")
        await view.until(lambda: "1 comment where nothing is pending:" in view.diff, "the other one")
        lines = view.diff[view.diff.index("1 comment where nothing is pending:") + 1 :]
        assert lines == ["comment on other.txt, line 2, for Claude Code, not told yet", "  | b", "  you: at 2"]
        # gone, and back again
        put(project, {"basket.py": b"nothing\n"})
        client.track()
        await view.press("j")
        await view.until(lambda: any("outdated" in line for line in said(view)), "that they are outdated")


async def test_a_text_that_was_not_sent_is_not_lost(client: Client, project: str) -> None:
    take(client, project, {"basket.py": CHANGED})
    async with shown(project) as history:
        view = await history.review()
        await view.until(lambda: len(view.diff) > 1, "the hunks")
        await view.press("n", "c")
        await view.until(lambda: isinstance(view.app.screen, Field), "the field")
        # an agent writes above while somebody types
        put(project, {"basket.py": b"first\n" + CHANGED})
        await say(view, "no")
        await view.until(lambda: "has changed since it was shown" in view.message, "the error")
        assert comments(client) == []
        await view.until(lambda: any("first" in line for line in view.diff), "the new lines")
        await view.press("n", "c")
        await say(view, ", really")
        await view.until(lambda: "Commented." in view.messages, "the outcome")
        assert comments(client)[0]["text"] == "no, really"
