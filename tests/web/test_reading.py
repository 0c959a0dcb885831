"""What the routes that read answer: what the daemon answers to the method of the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .browser import part

if TYPE_CHECKING:
    from .browser import Web
    from .conftest import World

SESSION = "an agent/ü"
"""A name that no path can have as it is."""


@pytest.fixture(scope="module")
def steps(world: World) -> list[str]:
    """Two steps, of two messages."""
    world.client.session_start(SESSION, agent="bot", title="a title")
    world.client.session_message(SESSION, "m1", "please change a and b")
    first = world.step(SESSION, {"a.txt": "one\n2\nthree\n", "b.txt": None, "new file.txt": "new\n"}, message="m1")
    world.client.session_message(SESSION, "m2", "and again")
    second = world.step(SESSION, {"a.txt": "one\n2\n3\n"}, message="m2")
    return [first, second]


def test_sessions(web: Web, world: World, steps: list[str]) -> None:
    assert web.get("/session").json == world.client.request("session/list", {})
    first = web.get("/session", {"limit": 1}).json
    assert len(first["sessions"]) == 1


def test_what_a_session_did(web: Web, world: World, steps: list[str]) -> None:
    path = f"/session/{part(SESSION)}"
    of_session = {"sessionId": SESSION}
    assert [each["stepId"] for each in web.get(f"{path}/steps").json["steps"]] == steps
    for name, method in [
        ("steps", "session/steps"),
        ("messages", "session/messages"),
        ("history", "session/history"),
        ("review", "review/list"),
    ]:
        assert web.get(f"{path}/{name}").json == world.client.request(method, of_session), name


def test_what_a_step_did(web: Web, world: World, steps: list[str]) -> None:
    path = f"/session/{part(SESSION)}/steps/{steps[0]}"
    assert web.get(f"{path}/diff").json == world.client.request("step/diff", {"stepId": steps[0]})
    assert web.get(f"{path}/changes").json == world.client.request("step/changes", {"stepIds": [steps[0]]})
    only = web.get(f"{path}/diff", {"files": ["b.txt", "new file.txt"]}).json["diff"]
    assert "diff --git a/b.txt" in only
    assert "a.txt" not in only
    hunks = web.get(f"{path}/hunks", {"file": "a.txt"})
    assert hunks.json == world.client.request("step/hunks", {"stepId": steps[0], "file": "a.txt"})


def test_a_step_belongs_to_its_session(web: Web, world: World, steps: list[str]) -> None:
    world.step("another", {"sub/c.txt": "C\n"})
    answer = web.get(f"/session/another/steps/{steps[0]}/diff")
    assert (answer.status, answer.kind) == (404, "unknownStep")
    # the beginning of a name is no name
    assert web.get(f"/session/{part(SESSION)}/steps/{steps[0][:8]}/diff").kind == "unknownStep"
    assert web.get(f"/session/nobody/steps/{steps[0]}/diff").kind == "unknownSession"


def test_status(web: Web, world: World) -> None:
    answer = web.get("/status").json
    assert answer["state"] == "on"
    assert answer["root"] == str(world.folder)
    assert answer["readOnly"] is False
    assert answer["status"]["workspaceUri"] == world.folder.as_uri()
    assert "why" not in answer


def test_the_history(web: Web, world: World, steps: list[str]) -> None:
    for query in ({}, {"files": ["b.txt"]}, {"files": ["a.txt", "new file.txt"], "renames": "true", "limit": 1}):
        params = {**query, "renames": True} if "renames" in query else query
        assert web.get("/history", query).json == world.client.request("session/history", dict(params)), query
    first = web.get("/history", {"limit": 1}).json
    second = web.get("/history", {"limit": 1, "cursor": first["nextCursor"]}).json
    assert first["entries"] + second["entries"] == world.client.request("session/history", {})["entries"][:2]


def test_what_is_pending(web: Web, world: World, steps: list[str]) -> None:
    assert web.get("/review").json == world.client.request("review/list", {})
    file = web.get("/review/file", {"file": "a.txt"})
    assert file.json == world.client.request("review/file", {"file": "a.txt"})
    assert file.json["before"] == "one\ntwo\nthree\n"


def test_blame(web: Web, world: World, steps: list[str]) -> None:
    assert web.get("/blame", {"file": "a.txt"}).json == world.client.request("snapshot/blame", {"file": "a.txt"})
    of_some = web.get("/blame", {"file": "a.txt", "start": 2, "count": 2}).json["lines"]
    assert [(each["start"], each["stepId"]) for each in of_some] == [(2, steps[0]), (3, steps[1])]
    answer = web.get("/blame", {"file": "a.txt", "start": 2})
    assert (answer.status, answer.kind, answer.json["field"]) == (400, "invalidParams", "count")


def test_snapshots_and_their_files(web: Web, world: World, steps: list[str]) -> None:
    taken = web.get("/snapshot", {"limit": 2}).json
    assert taken == world.client.request("snapshot/list", {"limit": 2})
    newest = taken["snapshots"][0]["hash"]
    assert sorted(web.get(f"/snapshot/{newest}/files").json["files"]) == ["a.txt", "new file.txt", "sub/c.txt"]
    assert web.get(f"/snapshot/{newest}/files", {"prefix": "sub/"}).json["files"] == ["sub/c.txt"]
    assert web.get(f"/snapshot/{'0' * 40}/files").kind == "unknownSnapshot"
    assert web.get("/snapshot/nonsense/files").json["field"] == "hash"


def test_differences(web: Web, world: World, steps: list[str]) -> None:
    found = world.client.request("session/steps", {"sessionId": SESSION})["steps"]
    sides = {"from": found[0]["from"], "to": found[1]["to"]}
    assert web.get("/diff", sides).json == world.client.request("snapshot/diffFull", sides)
    for name in ("file", "files"):
        only = web.get("/diff", {**sides, name: ["a.txt", "b.txt"], "contents": "false"}).json["diffs"]
        assert [(each["file"], each["before"]) for each in only] == [("a.txt", ""), ("b.txt", "")]
    until_now = {"from": found[0]["from"], "contents": "false"}
    assert web.get("/diff", until_now).json == world.client.request(
        "snapshot/diffFull", {**until_now, "contents": False}
    )


PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


def test_contents(web: Web, world: World) -> None:
    """The bytes are those of the file, also of one that no snapshot has yet."""
    files = {
        "p.png": PNG,
        "P.JPG": b"\xff\xd8",
        "x.svg": b"<svg/>",
        "page.html": b"<script>1</script>",
        "bytes": b"\xff\0",
    }
    world.write(dict(files))
    taken = world.client.track()["hash"]
    now = world.folder / "p.png"
    for name, data in files.items():
        for query in ({"file": name, "hash": taken}, {"file": name}):
            answer = web.get("/content", query)
            assert (answer.status, answer.body) == (200, data), query
            assert answer.headers["x-content-type-options"] == "nosniff"
    now.write_bytes(PNG + b"new")
    assert web.get("/content", {"file": "p.png"}).body == PNG + b"new"
    assert web.get("/content", {"file": "p.png", "hash": taken}).body == PNG


@pytest.mark.parametrize(
    ("name", "kind", "policy"),
    [
        ("p.png", "image/png", "default-src 'none'; script-src 'self'"),
        ("P.JPG", "image/jpeg", "default-src 'none'; script-src 'self'"),
        ("x.svg", "image/svg+xml", "sandbox; default-src 'none'; style-src 'unsafe-inline'"),
        ("page.html", "application/octet-stream", "default-src 'none'; script-src 'self'"),
        ("bytes", "application/octet-stream", "default-src 'none'; script-src 'self'"),
        ("link.png", "application/octet-stream", "default-src 'none'; script-src 'self'"),
    ],
)
def test_only_images_have_a_type(web: Web, world: World, name: str, kind: str, policy: str) -> None:
    path = world.folder / name
    if name == "link.png":
        if not path.is_symlink():
            path.symlink_to("p.png")
    else:
        path.write_bytes(PNG)
    world.client.track()
    answer = web.get("/content", {"file": name})
    assert answer.headers["content-type"] == kind
    assert answer.headers["content-security-policy"].startswith(policy)
    assert answer.headers["content-disposition"] == ("attachment" if kind == "application/octet-stream" else "inline")


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("../outside", "pathOutsideWorkspace"),
        ("/etc/passwd", "pathOutsideWorkspace"),
        ("file:///etc/passwd", "pathOutsideWorkspace"),
        (".git/config", "pathOutsideWorkspace"),
        ("sub/../../x", "pathOutsideWorkspace"),
        ("a.txt\0", "invalidParams"),
        ("", "invalidParams"),
        ("missing", "fileNotInSnapshot"),
        ("sub", "fileNotInSnapshot"),
    ],
)
def test_nothing_but_captured_files_is_read(web: Web, world: World, file: str, kind: str) -> None:
    taken = world.client.track()["hash"]
    for query in ({"file": file}, {"file": file, "hash": taken}):
        assert web.get("/content", query).kind == kind


def test_an_ignored_file_is_not_read(web: Web, world: World) -> None:
    world.write({".gitignore": ".env\n", ".env": "SECRET=1\n"})
    assert web.get("/content", {"file": ".env"}).kind == "fileNotInSnapshot"


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/session?limit=0", "limit"),
        ("/session?limit=ten", "limit"),
        ("/session?limit=1&limit=2", "limit"),
        ("/session?limit=" + "9" * 400, "limit"),
        ("/session?limt=1", "limt"),
        ("/session?cursor=nonsense", "cursor"),
        ("/session?x=%ff", "query"),
        ("/session/%ff/steps", "id"),
        ("/session/s/steps?sessionId=t", "sessionId"),
        ("/history?renames=yes", "renames"),
        ("/blame", "file"),
        ("/blame?file=a.txt&hash=ABC", "hash"),
        ("/blame?file=a.txt&start=0&count=1", "start"),
        ("/diff?from=" + "0" * 5, "from"),
        ("/search?q=x&in=everywhere", "in[0]"),
        ("/events?since=-1", "since"),
    ],
)
def test_what_is_wrong_is_named(web: Web, path: str, field: str) -> None:
    answer = web.get(path)
    assert (answer.status, answer.kind, answer.json["field"]) == (400, "invalidParams", field)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/session/s/steps?sessionId=t", "sessionId: is already given in the path"),
        # the name of the route and that of the wire
        ("/diff?from=" + "0" * 40 + "&file=a&files=b", "files: is given twice"),
    ],
)
def test_what_is_given_more_than_once(web: Web, path: str, said: str) -> None:
    answer = web.get(path)
    assert (answer.status, answer.json["detail"]) == (400, said)


def test_there_is_nothing_else(web: Web) -> None:
    for path in (
        "/nothing",
        "/session/",
        "/session//steps",
        "/page/index.html",
        "/../snapd/web/app.py",
        "/%2e%2e/x",
        "//",
    ):
        assert web.get(path).kind == "notFound", path
    answer = web.get("/review/keep")
    assert (answer.status, answer.kind, answer.headers["allow"]) == (405, "methodNotAllowed", "POST")
    assert web.send("HEAD", "/session", {"Authorization": f"Bearer {web.token}"}).status == 405
