"""Draws `terminal-view.svg` and `review.svg`: the terminal view of a folder in which two agents and a user have worked.

.venv/bin/python docs/pictures/draw_view.py
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import tempfile
import threading
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import TYPE_CHECKING, Any
from unittest import mock

from textual.widgets import Static

from snapd.backend import open_local
from snapd.cli.ui.app import TerminalView
from snapd.locations import Locations

if TYPE_CHECKING:
    from collections.abc import Callable

SIZE = (104, 18)
NOW = datetime(2026, 1, 5, 14, 30, tzinfo=UTC)

BASKET = """class Basket:
    def __init__(self):
        self.items = []

    def add(self, item):
        self.items.append(item)

    def total(self):
        return sum(item.price for item in self.items)
"""
COUNTED = BASKET.replace("self.items.append(item)", "self.items.append(item)\n        return len(self.items)")
ROUNDED = COUNTED.replace(
    "return sum(item.price for item in self.items)",
    "prices = (item.price * item.count for item in self.items)\n        return round(sum(prices), 2)",
)
TEST = """def test_total():
    basket = Basket()
    assert basket.total() == 0
"""


class InThisProcess:
    """Stands in for the link to the daemon: the same requests, answered here, so that nothing depends on the moment.

    Args:
        scratch: where store and folder lie.
    """

    def __init__(self, scratch: str) -> None:
        self.folder = "~/shop"
        self.is_open = True
        self.root = os.path.join(scratch, "shop")
        os.makedirs(self.root)
        self.minutes_ago = 12
        self._closed = threading.Event()
        environment = {"SNAPD_DATA_DIR": scratch + "/data", "SNAPD_RUNTIME_DIR": scratch + "/run", "HOME": scratch}
        self._backend = open_local(Locations.from_environment(environment), None, self.root, {})

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        """Answers a request."""
        return self._backend.request(method, {name: value for name, value in params.items() if value is not None})

    def moment(self) -> int:
        """Nanoseconds since 1970: stands in for `time.time_ns`."""
        return int((NOW - timedelta(minutes=self.minutes_ago)).timestamp()) * 10**9

    def listen(self, _: Callable[[str, dict[str, Any]], None]) -> None:
        """Waits for the end: nothing happens meanwhile."""
        self._closed.wait()

    def close(self) -> None:
        """Ends."""
        self._closed.set()
        self._backend.close()


def main() -> None:
    """Has the agents work, and draws what is shown."""
    numbers = count()

    def name(length: int) -> str:
        return hashlib.sha256(b"%d" % next(numbers)).hexdigest()[: 2 * length]

    with (
        tempfile.TemporaryDirectory(prefix="snapd-picture-") as scratch,
        mock.patch("secrets.token_hex", name),
        mock.patch("snapd.cli.ui.panes.local_now", return_value=NOW),
    ):
        link = InThisProcess(scratch)
        with mock.patch("time.time_ns", link.moment):
            work(link)
        history, review = asyncio.run(draw(link))
    save("terminal-view.svg", history)
    save("review.svg", review)


def save(name: str, svg: str) -> None:
    """Writes a picture beside this file."""
    # rich refers to fonts on the web; a picture in a repository must stand on its own
    svg = re.sub(r"@font-face \{.*?\}\n?", "", svg, flags=re.DOTALL)
    svg = re.sub(r"font-family: Fira Code, *monospace", "font-family: ui-monospace, Menlo, Consolas, monospace", svg)
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, name), "w", encoding="utf-8") as file:
        file.write("\n".join(line.rstrip() for line in svg.splitlines()) + "\n")


def work(link: InThisProcess) -> None:
    """What two agents and a user do."""

    def write(name: str, text: str) -> None:
        with open(os.path.join(link.root, name), "w", encoding="utf-8") as file:
            file.write(text)

    def begin(session: str, tool: str, description: str) -> str:
        params = {"sessionId": session, "tool": tool, "description": description}
        return str(link.ask("step/begin", params)["stepId"])

    def step(session: str, tool: str, description: str, name: str, text: str) -> str:
        link.minutes_ago -= 2
        made = begin(session, tool, description)
        write(name, text)
        link.ask("step/end", {"stepId": made})
        return made

    write("basket.py", BASKET)
    link.ask("session/start", {"sessionId": "claude", "agent": "claude", "title": "Round totals"})
    step("claude", "Edit", "add tells the count", "basket.py", COUNTED)
    guess = step("claude", "Write", "a first guess", "money.py", "CENTS = 100\n")
    link.ask("session/undo", {"sessionId": "claude", "stepId": guess})
    link.minutes_ago -= 1
    write("notes.txt", "what about taxes?\n")
    step("claude", "Edit", "prices times counts", "basket.py", ROUNDED)
    link.minutes_ago -= 1
    link.ask("session/start", {"sessionId": "codex", "agent": "codex", "title": "Test the basket"})
    step("codex", "Write", "test_basket.py", "test_basket.py", TEST)
    link.minutes_ago -= 1
    begin("codex", "Bash", "pytest")


async def draw(link: InThisProcess) -> tuple[str, str]:
    """The pictures of a selected step with a chosen hunk, and of a review."""
    app = TerminalView(link)  # type: ignore[arg-type]
    async with app.run_test(size=SIZE) as pilot:

        async def until(condition: Callable[[], object]) -> None:
            while not condition():
                await pilot.pause(0.01)

        await until(lambda: app.rows.count > 5 and "to review" in str(app.query_one("#status", Static).render()))
        while not (app.rows.selected and "prices times" in app.rows.text(app.rows.cursor)):
            await pilot.press("j")
        await until(lambda: any("round(sum" in line.text for line in app.diff.lines))
        await pilot.press("tab", "n", "space")
        await pilot.pause()
        history = app.export_screenshot(title="snapd ui")
        await pilot.press("v")
        await until(lambda: any("round(sum" in line.text for line in app.review.changes.lines))
        await pilot.press("n")
        await pilot.pause()
        return history, app.export_screenshot(title="snapd ui")


if __name__ == "__main__":
    main()
