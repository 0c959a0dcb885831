"""Random requests: whatever is asked, the answer is one that the document tells of, and no failure of the server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_from_bytes

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from snapd.web.api.table import ROWS
from tests.support.amounts import amount

if TYPE_CHECKING:
    from snapd.web.api.routes import Route

    from .browser import Answer, Web
    from .conftest import World

# a stream never ends by itself
ROUTES = [row.route for row in ROWS if "text/event-stream" not in row.route.media]

NAMES = sorted({each.name for route in ROUTES for each in route.inputs} | {"workspaceUri", "dryrun", "", "a b", "ü"})
WORDS = st.sampled_from(
    ["s", "a.txt", "true", "0", "1", "-1", "m", "prompts,files", "0" * 40, "..", "/", ".git/x", "\0"]
)
TEXTS = WORDS | st.text(max_size=30)
BYTES = TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass")) | st.binary(max_size=20)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES) | TEXTS, inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def step(world: World) -> str:
    """Something to ask for."""
    world.client.session_start("s", agent="bot")
    world.client.session_message("s", "m", "a prompt")
    return world.step("s", {"a.txt": "one\n2\nthree\n"}, message="m", part="p")


def check(web: Web, verb: str, path: str, answer: Answer) -> None:
    assert answer.status < 500, (verb, path, answer)
    web.contract.check(verb, path, answer)
    if answer.status >= 400:
        assert answer.kind


@st.composite
def paths(draw: st.DrawFn, route: Route, step: str) -> str:
    """A path of a route, mostly one that names something."""
    path = route.path
    for each in route.inputs:
        if each.place == "path":
            likely = {"id": b"s", "stepId": step.encode(), "hash": b"0" * 40, "commentId": b"0" * 32}[each.name]
            part = draw(st.just(likely) | st.just(likely) | BYTES)
            path = path.replace(f"{{{each.name}}}", quote_from_bytes(part, safe=""))
    return path


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.verb} {route.path}")
def test_random_requests(web: Web, step: str, route: Route) -> None:
    names = st.sampled_from([each.name for each in route.inputs if each.place != "path"] or ["limit"])

    @settings(max_examples=amount(15, 500), deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def ask(data: st.DataObject) -> None:
        path = data.draw(paths(route, step))
        auth = {"Authorization": f"Bearer {web.token}", "Content-Type": "application/json"}
        if route.verb == "GET":
            fields = data.draw(st.lists(st.tuples(names | names | TEXTS, BYTES), max_size=4))
            pairs = (f"{quote_from_bytes(n.encode('utf-8', 'surrogatepass'))}={quote_from_bytes(v)}" for n, v in fields)
            path = f"{path}?{'&'.join(pairs)}"
            check(web, "GET", path, web.send("GET", path, auth))
        else:
            body = data.draw(st.dictionaries(names | names | TEXTS, VALUES, max_size=4) | VALUES)
            sent = json.dumps(body).encode() if data.draw(st.integers(0, 9)) else data.draw(st.binary(max_size=50))
            check(web, "POST", path, web.send("POST", path, auth, sent))

    ask()


@settings(max_examples=amount(50, 2000), deadline=None, suppress_health_check=list(HealthCheck))
@given(path=st.lists(BYTES, max_size=5), verb=st.sampled_from(["GET", "POST", "PUT", "DELETE", "PATCH", "X"]))
def test_random_paths(web: Web, step: str, path: list[bytes], verb: str) -> None:
    asked = "/" + "/".join(quote_from_bytes(part, safe="") for part in path)
    answer = web.send(verb, asked, {"Authorization": f"Bearer {web.token}", "Content-Type": "application/json"})
    assert answer.status < 500


def test_nothing_else_was_changed(web: Web, world: World, step: str) -> None:
    """After all of it, the rest of the folder is as it was, and the server and the daemon answer."""
    assert (world.folder / "sub" / "c.txt").read_text() == "c\n"
    assert (world.folder / "b.txt").read_text() == "b\n"
    assert web.get("/status").json["state"] == "on"
