"""`docs/web.md` has the routes that there are, and its examples work."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from snapd.web.api.table import ROWS

from .conftest import world_on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.rpc.machine import Machine

    from .conftest import World

PAGE = (Path(__file__).parents[2] / "docs" / "web.md").read_text("utf-8")
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
EXAMPLES = [each for block in BLOCKS for each in re.split(r"\n(?=curl)", block.strip())]


@pytest.fixture
def played(machine: Machine) -> Iterator[World]:
    """The folder of the examples."""
    with world_on(machine) as world:
        world.write({"src/basket.py": "sum = 0\n"})
        world.client.track()
        world.client.session_start("s1", agent="bot")
        world.client.session_message("s1", "m1", "add a discount")
        world.step("s1", {"src/basket.py": "sum = 1\n", "src/discount.py": "RATE = 0.9\n"}, message="m1")
        yield world


def test_the_table_has_every_route() -> None:
    rows = re.findall(r"^\| `(GET|POST) (\S+)` \| (.+) \|$", PAGE, re.MULTILINE)
    assert [(verb, path) for verb, path, _ in rows] == [(row.route.verb, row.route.path) for row in ROWS]
    for (_, _, said), row in zip(rows, ROWS, strict=True):
        named = re.match(r"`(\w+/\w+)`", said)
        assert (named[1] if named else None) == (row.route.method.name if row.route.method else None), said


def test_the_examples_work(played: World) -> None:
    """One after the other, as a reader would type them; each answers what it was asked."""
    web = played.serve()
    environment = {"PATH": os.environ["PATH"], "URL": web.url, "TOKEN": web.token, "OTHER": str(played.folder)}
    said = []
    for example in EXAMPLES:
        command = example.replace("curl ", "curl -sS --fail-with-body ", 1)
        done = subprocess.run(
            ["sh", "-c", command], env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, (example, done)
        said.append(done.stdout)
    sessions, diff, blame, plan, revert, unrevert, elsewhere, search, events = said
    assert '"sessionId":"s1"' in sessions
    assert '"after":"sum = 1' in diff
    assert '"author":"step"' in blame
    assert '"applied":false' in plan
    assert '"messageID":"m1"' in revert
    assert '"sessionId":"s1"' in unrevert
    assert '"sessionId":"s1"' in elsewhere
    assert '"file":"src/discount.py"' in search
    assert events.startswith("retry: ")
    assert played.text("src/basket.py") == "sum = 1\n"
