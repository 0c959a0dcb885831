"""Whoever is not the user, or a page of this server, gets nothing and changes nothing."""

from __future__ import annotations

import asyncio
import re
import socket
from typing import TYPE_CHECKING, Any

import pytest
from starlette.responses import Response

from snapd.web.guard import MAX_BODY, MAX_HEAD, Access, Guard

from .browser import PATIENCE, Answer, part

if TYPE_CHECKING:
    from tests.rpc.machine import Machine

    from .browser import Web
    from .conftest import World

JSON = {"Content-Type": "application/json"}
AFTER = "one\n2\nthree\n"


@pytest.fixture(scope="module")
def step(world: World) -> str:
    """A step that could be undone."""
    return world.step("s", {"a.txt": AFTER}, message="m")


@pytest.fixture(scope="module")
def cookie(web: Web) -> str:
    """The cookie of a browser that has logged in."""
    answer = web.send("POST", "/login", JSON, b'{"token": "%s"}' % web.token.encode())
    assert (answer.status, answer.body) == (204, b"")
    return answer.headers["set-cookie"]


def routes(web: Web, step: str) -> list[tuple[str, str]]:
    """Every route, with a path of it that would answer."""
    found = []
    names = {"{id}": "s", "{stepId}": step, "{hash}": "0" * 40, "{commentId}": "0" * 32}
    for path, verbs in web.contract.document["paths"].items():
        filled = re.sub(r"\{\w+\}", lambda name: names[name[0]], path)
        found += [(verb.upper(), filled) for verb in verbs if path != "/login"]
    assert len(found) > 30
    return found


def send(web: Web, verb: str, path: str, **headers: str) -> Answer:
    return web.send(verb, path, {**JSON, **headers}, b"{}" if verb == "POST" else None)


def is_as_it_was(world: World) -> bool:
    return world.text("a.txt") == AFTER


# -- the token


def test_no_route_answers_without_the_token(web: Web, world: World, step: str, cookie: str) -> None:
    name, _, value = cookie.partition(";")[0].partition("=")
    wrong = [
        {},
        {"Authorization": "Bearer "},
        {"Authorization": f"Bearer {web.token}x"},
        {"Authorization": f"Bearer {web.token[:-1]}"},
        {"Authorization": f"Basic {web.token}"},
        {"Authorization": web.token},
        # what is a cookie is no token, and the other way round
        {"Authorization": f"Bearer {value}"},
        {"Cookie": f"{name}={web.token}"},
        {"Cookie": f"snapd-1={value}"},
        {"Cookie": f"{name}x={value}"},
        # a wrong token is not made good by a cookie
        {"Authorization": "Bearer wrong", "Cookie": f"{name}={value}"},
    ]
    for verb, path in routes(web, step):
        for headers in wrong if path == "/session" else wrong[:3]:
            answer = send(web, verb, path, **headers)
            assert (answer.status, answer.kind) == (401, "unauthorized"), (verb, path, headers)
            assert answer.headers["www-authenticate"] == "Bearer"
    assert send(web, "GET", f"/session?token={web.token}").status == 401
    assert is_as_it_was(world)


def test_the_cookie(web: Web, cookie: str) -> None:
    given, *flags = cookie.split("; ")
    assert given.startswith(f"snapd-{web.port}=")
    assert sorted(flags) == ["HttpOnly", "Path=/", "SameSite=Strict"]
    assert web.token not in cookie
    assert send(web, "GET", "/session", Cookie=given).status == 200
    assert send(web, "GET", "/session", Cookie=f"other=1; {given}; snapd-1=x").status == 200


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        (b'{"token": "wrong"}', 401, "unauthorized"),
        (b'{"token": ""}', 401, "unauthorized"),
        ('{"token": "ü"}'.encode(), 401, "unauthorized"),
        (b"{}", 400, "invalidParams"),
        (b'{"token": 1}', 400, "invalidParams"),
        (b'{"token": null}', 400, "invalidParams"),
        (b"[]", 400, "invalidParams"),
        (b"", 400, "invalidParams"),
        (b"\xff", 400, "invalidParams"),
        (b"[" * 100_000, 400, "invalidParams"),
    ],
)
def test_no_cookie_for_anything_else(web: Web, body: bytes, status: int, kind: str) -> None:
    answer = web.send("POST", "/login", JSON, body)
    assert (answer.status, answer.kind) == (status, kind)
    assert "set-cookie" not in answer.headers


def test_the_page_itself_is_public(web: Web) -> None:
    answer = web.send("GET", "/")
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert web.token.encode() not in answer.body
    again = web.send("GET", "/", {"If-None-Match": answer.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
    assert web.send("HEAD", "/").status == 200


# -- other names, other pages


def test_no_other_name(web: Web, world: World, step: str, cookie: str) -> None:
    """A name that leads here by rebinding gets nothing, with the cookie or without, not even the page."""
    given = {"Authorization": f"Bearer {web.token}", "Cookie": cookie.partition(";")[0]}
    everything = [*routes(web, step), ("GET", "/"), ("HEAD", "/"), ("POST", "/login"), ("GET", "/nothing")]
    for verb, path in everything:
        answer = send(web, verb, path, Host=f"evil.example:{web.port}", **given)
        assert answer.status == 421, (verb, path)
        assert verb == "HEAD" or answer.kind == "foreignHost"
    assert is_as_it_was(world)


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1",
        "localhost",
        "127.0.0.1:{other}",
        "127.0.0.2:{port}",
        "0.0.0.0:{port}",
        "localhost.:{port}",
        "127.0.0.1:{port}@evil.example",
        "evil.example@127.0.0.1:{port}",
        "evil.example#127.0.0.1:{port}",
        "127.0.0.1:{port}.evil.example",
        "127.0.0.1:0{port}",
        "[::ffff:127.0.0.1]:{port}",
        "",
    ],
)
def test_names_that_look_like_ours(web: Web, host: str) -> None:
    host = host.format(port=web.port, other=web.port + 1)
    assert web.get("/session", Host=host, **{"X-Forwarded-Host": web.host}).kind == "foreignHost"


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
def test_our_names(web: Web, name: str) -> None:
    assert web.get("/session", Host=f"{name}:{web.port}").status == 200


POST = b"POST /session/s/undo HTTP/1.1\r\nHost: %(host)s\r\n%(auth)s\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    "head",
    [
        b"GET /session HTTP/1.1\r\n%(auth)s\r\n\r\n",
        b"GET /session HTTP/1.0\r\n%(auth)s\r\n\r\n",
        b"GET /session HTTP/1.1\r\nHost: %(host)s\r\nHost: evil.example\r\n%(auth)s\r\n\r\n",
        b"GET http://evil.example/session HTTP/1.1\r\nHost: %(host)s\r\n%(auth)s\r\n\r\n",
        b"GET //evil.example/session HTTP/1.1\r\nHost: %(host)s\r\n%(auth)s\r\n\r\n",
        b"CONNECT evil.example:80 HTTP/1.1\r\nHost: %(host)s\r\n%(auth)s\r\n\r\n",
        b"GET /session HTTP/1.1\r\nHost: %(host)s\r\n%(auth)s\r\n%(auth)s\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: %(host)s\r\n%(auth)s\r\n\r\n",
        b"GET /session HTTP/1.1\nHost: %(host)s\n%(auth)s\n\tfolded\n\n",
        POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        POST + b"Content-Length: -1\r\n\r\n{}",
        POST + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n{}",
        POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        b'Content-Length: 20\r\n\r\n{"jsonrpc": "2.0"}\r\n\r\n',
        b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03",
        b"\0" * 5000 + b"\r\n\r\n",
    ],
)
def test_requests_that_are_none(web: Web, world: World, step: str, head: bytes) -> None:
    """Each gets an error, and the server goes on."""
    auth = b"Authorization: Bearer " + web.token.encode()
    with socket.create_connection(("127.0.0.1", web.port), PATIENCE) as connection:
        connection.sendall(head.replace(b"%(host)s", web.host.encode()).replace(b"%(auth)s", auth))
        answer = connection.makefile("rb").readline()
    assert re.match(rb"HTTP/1.[01] 4\d\d ", answer), answer
    assert web.get("/session").status == 200
    assert is_as_it_was(world)


def test_no_page_of_another_origin(web: Web, world: World, step: str, cookie: str) -> None:
    given = {"Cookie": cookie.partition(";")[0]}
    origins = ["http://evil.example", "null", f"https://{web.host}", f"http://127.0.0.1:{web.port + 1}", "", web.host]
    for verb, path in [*routes(web, step), ("POST", "/login"), ("GET", "/")]:
        for origin in origins if path == "/session/s/undo" else origins[:1]:
            answer = send(web, verb, path, Origin=origin, **given)
            assert (answer.status, answer.kind) == (403, "foreignOrigin"), (verb, path, origin)
            assert not [name for name in answer.headers if name.startswith("access-control-")]
    assert send(web, "GET", "/session", Origin=web.url, **given).status == 200
    assert send(web, "GET", "/session", Origin=f"http://localhost:{web.port}", **given).status == 200
    assert is_as_it_was(world)


def test_what_browsers_say_of_other_sites(web: Web, world: World, step: str, cookie: str) -> None:
    """Another port of this machine is the same site: its pages are sent the cookie, and still get nothing."""
    given = {"Cookie": cookie.partition(";")[0]}
    for site in ("cross-site", "same-site", "Cross-Site"):
        for verb, path in routes(web, step):
            fetched = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image", **given}
            assert send(web, verb, path, **fetched).kind == "foreignOrigin", (verb, path)
        opened = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        assert send(web, "GET", "/", **opened).status == 200
        # a form, a link to the API, a frame
        assert send(web, "POST", "/session/s/undo", **opened, **given).status == 403
        assert send(web, "GET", "/content?file=a.txt", **opened, **given).status == 403
        assert send(web, "GET", "/", **{**opened, "Sec-Fetch-Dest": "iframe"}).status == 403
    for site in ("same-origin", "none"):
        assert send(web, "GET", "/session", **{"Sec-Fetch-Site": site}, **given).status == 200
    assert is_as_it_was(world)


@pytest.mark.parametrize(
    "kind",
    [
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain",
        "text/plain; application/json",
        "application/jsonx",
        "text/json",
        "",
        None,
    ],
)
def test_no_form(web: Web, world: World, step: str, cookie: str, kind: str | None) -> None:
    """What a form can send is refused, with the token too."""
    headers = {"Cookie": cookie.partition(";")[0], **({} if kind is None else {"Content-Type": kind})}
    for verb, path in [*routes(web, step), ("POST", "/login")]:
        if verb == "POST":
            answer = web.send("POST", path, headers, b'{"all": true}')
            assert (answer.status, answer.kind) == (415, "wrongContentType"), path
    assert is_as_it_was(world)


def test_no_preflight_is_answered(web: Web, world: World, step: str) -> None:
    asking = {
        "Origin": "http://evil.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization, content-type",
        "Access-Control-Request-Private-Network": "true",
    }
    for path in ("/session/s/undo", "/session", "/", "/login"):
        answer = web.send("OPTIONS", path, asking)
        assert answer.status in (401, 403)
        assert not [name for name in answer.headers if name.startswith("access-control-")]


def test_no_websocket(web: Web) -> None:
    asking = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "x" * 24,
    }
    assert web.get("/events?since=x", **asking).status == 400


# -- what every answer says


def test_the_headers_of_every_answer(web: Web, step: str) -> None:
    token = {"Authorization": f"Bearer {web.token}"}
    answers = [
        web.send("GET", "/"),
        web.send("GET", "/session"),
        web.send("GET", "/session", {"Host": "evil.example"}),
        web.send("GET", "/session", {**token, "Origin": "null"}),
        web.send("GET", "/nothing", token),
        web.send("GET", "/review/keep", token),
        web.send("GET", "/session?limit=0", token),
        web.send("POST", "/session/s/undo", token),
        *(web.send(verb, path, token) for verb, path in routes(web, step) if verb == "GET" and path != "/events"),
    ]
    for answer in answers:
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"], answer
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["cache-control"] in ("no-store", "no-cache")
        assert "server" not in answer.headers
    policy = web.send("GET", "/").headers["content-security-policy"]
    assert policy == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


# -- sizes


def refused(web: Web, head: bytes, *parts: bytes) -> bytes:
    """What comes back for a request that is cut off."""
    auth = f"Host: {web.host}\r\nAuthorization: Bearer {web.token}\r\nContent-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", web.port), PATIENCE) as connection:
        connection.sendall(b"POST /session/s/undo HTTP/1.1\r\n" + auth.encode() + head + b"\r\n\r\n")
        for part in parts:
            try:
                connection.sendall(part)
            except ConnectionError:
                break
        return connection.makefile("rb").readline()


@pytest.mark.parametrize("part", ["raw_path", "query_string", "headers"])
def test_a_head_that_comes_in_one_piece_has_a_limit(part: str) -> None:
    """The parser of HTTP holds a head to its limit only while some of it has yet to come."""
    access = Access(80, ["localhost"], secure=False)
    guard = Guard(Response("passed"), access, ["/"], read_only=False)
    host = (b"host", b"localhost")
    parts = {"raw_path": b"/", "query_string": b"", "headers": [host]}
    used = len(b"/") + sum(map(len, host))

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    def status(extra: int) -> int:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        longer = {
            "raw_path": b"/" + b"x" * extra,
            "query_string": b"x" * extra,
            "headers": [host, (b"x", b"x" * (extra - 1))],
        }
        scope = {"type": "http", "method": "GET", **parts, part: longer[part]}
        asyncio.run(guard(scope, receive, send))
        return int(sent[0]["status"])

    most = MAX_HEAD - used
    assert status(most) == (401 if part == "raw_path" else 200)
    assert status(most + 1) == 431


def test_the_body_has_a_limit(web: Web, world: World, step: str) -> None:
    # what is announced is not waited for
    assert refused(web, b"Content-Length: %d" % (MAX_BODY + 1)).startswith(b"HTTP/1.1 413 ")
    assert refused(web, b"Content-Length: 10000000000").startswith(b"HTTP/1.1 413 ")
    chunk = b"%x\r\n%s\r\n" % (MAX_BODY // 4, b" " * (MAX_BODY // 4))
    assert refused(web, b"Transfer-Encoding: chunked", *[chunk] * 5).startswith(b"HTTP/1.1 413 ")
    assert is_as_it_was(world)
    most = b'{"dryRun": true' + b" " * (MAX_BODY - 16) + b"}"
    assert len(most) == MAX_BODY
    auth = {"Authorization": f"Bearer {web.token}", **JSON}
    assert web.send("POST", "/session/s/undo", auth, most).json["applied"] is False
    assert web.send("POST", "/session/s/undo", auth, b"[" * MAX_BODY).kind == "invalidParams"
    deep = b'{"files": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    assert web.send("POST", "/review/keep", auth, deep).kind == "invalidParams"
    assert web.send("POST", "/session/s/undo", auth, b'{"count": %s}' % (b"9" * 5000)).kind == "invalidParams"


# -- hostile names and contents

HOSTILE = [
    "<script>alert(1)</script>.txt",
    '"><img src=x onerror=alert(1)>.png',
    "new\nline\r\nSet-Cookie: x=y.svg",
    "-rf.txt",
    "%2e%2e%2f.txt",
    "\u202etxt.exe",
    "b'; DROP TABLE steps; --.txt",
    "&amp;.txt",
]


def test_hostile_names(web: Web, world: World) -> None:
    """A name is data: in JSON, never in a header, and the bytes behind it are never a page."""
    hostile = [*HOSTILE, "bytes \udcff\udcfe.txt"]
    world.step("hostile", {name: f"<script>{at}</script>\n" for at, name in enumerate(hostile)})
    steps = web.get("/session/hostile/steps")
    assert steps.headers["content-type"] == "application/json"
    files = steps.json["steps"][0]["files"]
    assert {each["file"] for each in files} == {*HOSTILE, "bytes \ufffd\ufffd.txt"}
    for each in files:
        answer = web.get("/content", {"file": each.get("uri", each["file"])})
        assert answer.body.startswith(b"<script>")
        kind = answer.headers["content-type"]
        assert kind == "application/octet-stream" or kind.startswith("image/")
        assert "set-cookie" not in answer.headers
    path = f"/session/hostile/steps/{steps.json['steps'][0]['stepId']}"
    for each in files:
        assert web.get(f"{path}/hunks", {"file": each.get("uri", each["file"])}).status == 200


def test_hostile_ids(web: Web, world: World) -> None:
    for name in ("../../etc", "<script>", "a?b#c", "ü", "%2f", " "):
        world.step(name, {"b.txt": f"{name}\n"})
        path = f"/session/{part(name)}"
        assert web.get(f"{path}/steps").json["steps"][0]["sessionId"] == name
        assert web.post(f"{path}/undo").json["applied"] is True


# -- what is told


def test_no_secret_is_logged(machine: Machine, web: Web, cookie: str) -> None:
    """After all of the above, the log has neither the token nor the cookie, nor what was sent."""
    logged = machine.logged()
    assert web.token not in logged
    assert cookie.partition(";")[0].partition("=")[2] not in logged
    assert "evil.example" not in logged
    assert "<script>" not in logged


def test_names_of_a_default_port() -> None:
    """Where the port is the scheme's own, clients leave it out."""
    assert Access(80, ("localhost",), secure=False).hosts == {"localhost:80", "localhost"}
    assert Access(443, ("box.example",), secure=True).origins == {"https://box.example:443", "https://box.example"}
    assert Access(443, ("box.example",), secure=False).hosts == {"box.example:443"}
    assert "; Secure" in Access(443, ("box.example",), secure=True).set_cookie()
