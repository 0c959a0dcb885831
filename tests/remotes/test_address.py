"""Addresses: what git gets to see of what people, and projects, write."""

from __future__ import annotations

import pytest

from snapd.model.errors import InvalidParams
from snapd.remotes.address import is_relative, resolve, without_secret


@pytest.mark.parametrize(
    "address",
    [
        "/srv/git/it.git",
        "file:///srv/git/it.git",
        "https://example.org/it.git",
        "http://user@example.org:8080/it.git",
        "ssh://git@example.org:22/it.git",
        "git://example.org/it.git",
        "git@example.org:it.git",
        "example.org:folder/it.git",
    ],
)
def test_what_git_gets(address: str) -> None:
    assert resolve(address, {}) == address
    assert resolve("origin", {"origin": address}) == address


@pytest.mark.parametrize(
    "address",
    [
        "ext::sh -c evil",
        "ext::sh",
        "fd::3",
        "--upload-pack=evil",
        "-oProxyCommand=evil:x",
        "ssh://-oProxyCommand=evil/x",
        "ssh://-oProxyCommand=evil@host/x",
        "https://example.org/a\nb",
        "ftp://example.org/it.git",
        "javascript://x",
        "",
        "relative/path",
        "origin",
    ],
)
def test_what_git_does_not_get(address: str) -> None:
    for remote, named in ((address, {}), ("evil", {"evil": address})):
        with pytest.raises(InvalidParams) as caught:
            resolve(remote, named)
        assert caught.value.data["field"] == "remote"


def test_a_name_comes_first() -> None:
    assert resolve("example.org:x", {"example.org:x": "/srv/it.git"}) == "/srv/it.git"
    with pytest.raises(InvalidParams, match="it has: a, b"):
        resolve("c", {"b": "/b", "a": "/a"})


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://user:secret@example.org/x", "https://user@example.org/x"),
        ("https://user:se:cret@example.org:8080", "https://user@example.org:8080"),
        ("https://user@example.org/x", "https://user@example.org/x"),
        ("git@example.org:x", "git@example.org:x"),
        ("/srv/a:b@c", "/srv/a:b@c"),
    ],
)
def test_passwords_are_not_shown(address: str, shown: str) -> None:
    assert without_secret(address) == shown


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("../x", True),
        ("x", True),
        ("a/b:c", True),
        ("host:x", False),
        ("/x", False),
        ("ext::x", False),
        ("c://x", False),
    ],
)
def test_relative_paths_are_those_of_git(address: str, expected: bool) -> None:
    assert is_relative(address) is expected
