"""The terminal view before a pilot: what it shows as text, and waiting for it."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from textual.widgets import Static

from snapd.cli.ui.app import Link, TerminalView
from snapd.cli.ui.dialogs import KeepAll, Question

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from textual.pilot import Pilot

PATIENCE = 60.0


class View:
    """What a user sees and does.

    Args:
        app: the view.
        pilot: presses keys.
    """

    def __init__(self, app: TerminalView, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot

    @property
    def rows(self) -> list[str]:
        """The lines on the left."""
        return [self.app.rows.text(at).rstrip() for at in range(self.app.rows.count)]

    @property
    def diff(self) -> list[str]:
        """The lines on the right."""
        return [line.text for line in self.app.diff.lines]

    @property
    def status(self) -> str:
        return str(self.app.screen_stack[0].query_one("#status", Static).render())

    @property
    def question(self) -> str:
        """What is asked; empty where nothing is."""
        return self.app.screen.text().plain if isinstance(self.app.screen, (Question, KeepAll)) else ""

    @property
    def messages(self) -> list[str]:
        return [notification.message for notification in self.app._notifications]  # noqa: SLF001 - textual shows a toast for a moment only

    @property
    def message(self) -> str:
        """The latest one; empty where there is none."""
        return (self.messages or [""])[-1]

    def screen(self) -> list[str]:
        """The lines that the terminal shows."""
        strips = self.app.screen._compositor.render_strips()  # noqa: SLF001 - textual has no public way
        return ["".join(segment.text for segment in strip) for strip in strips]

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def until(self, condition: Callable[[], object], what: str) -> None:
        """Waits until something is shown."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, (what, self.rows, self.diff[:20], self.status, self.messages)
            await self.pilot.pause(0.01)

    async def select(self, words: str) -> None:
        """Moves the cursor down to the next line with these words, from the top, by key."""
        await self.press("g")
        await self.until(lambda: any(words in row for row in self.rows), words)
        for _ in range(next(at for at, row in enumerate(self.rows) if words in row)):
            await self.press("j")

    async def answer(self, key: str, words: str) -> None:
        """Waits for a question with these words, and answers it."""
        await self.until(lambda: words in self.question, words)
        await self.press(key)

    async def review(self) -> Review:
        """Opens the review screen by key, and waits for it."""
        await self.press("v")
        review = Review(self.app, self.pilot)
        await self.until(lambda: self.app.screen is self.app.review and review.status, "the review screen")
        return review


class Review(View):
    """What a user sees and does on the review screen."""

    @property
    def rows(self) -> list[str]:
        """The files."""
        files = self.app.review.files
        return [files.text(at).rstrip() for at in range(files.count)]

    @property
    def diff(self) -> list[str]:
        """The changes of the selected file."""
        return [line.text for line in self.app.review.changes.lines]

    @property
    def status(self) -> str:
        return str(self.app.review.query_one("#review-status", Static).render())

    @property
    def at(self) -> str:
        """The line of the cursor: of the changes if the keys go there, else of the files."""
        if self.app.review.changes.has_focus:
            return self.diff[self.app.review.changes.cursor] if self.diff else ""
        return self.rows[self.app.review.files.cursor]


@asynccontextmanager
async def shown(project: str, size: tuple[int, int] = (100, 30), *, loaded: bool = True) -> AsyncIterator[View]:
    """The view of a folder; the environment says whose daemon answers.

    Args:
        project: the folder.
        size: columns and lines of the terminal.
        loaded: whether to wait until there is something to see.
    """
    app = TerminalView(Link(None, project))
    async with app.run_test(size=size, notifications=True) as pilot:
        view = View(app, pilot)
        await view.until(lambda: app.history.is_loaded or not loaded, "the history")
        yield view
