"""A client of `snapd web` that sends just what a test wants, by the standard library alone."""

from __future__ import annotations

import http.client
import json
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlencode

from .conformance import Contract

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping

PATIENCE = 60.0


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def kind(self) -> str:
        """The kind of a problem."""
        assert self.headers["content-type"] == "application/problem+json", self
        assert self.json["status"] == self.status
        assert self.json["hint"]
        return str(self.json["kind"])


class Web:
    """A running `snapd web`.

    Attributes:
        url: its address, without the token.
        token: what it lets programs in with.
        contract: its OpenAPI document, with which `get` and `post` compare every answer.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, "it ended before it served"
        told = json.loads(line)
        self.process = process
        self.token: str = told["token"]
        self.url, _, fragment = told["url"].partition("/#")
        assert fragment == f"token={self.token}"
        self.host = self.url.rpartition("/")[2]
        self.port = int(self.host.rpartition(":")[2])
        given = self.send("GET", "/openapi.json", {"Authorization": f"Bearer {self.token}"})
        self.contract = Contract(given.json)

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def send(
        self, verb: str, path: str, headers: Mapping[str, str | bytes] | None = None, body: bytes | None = None
    ) -> Answer:
        """Sends a request with these headers and no others, but for `Host` where it is missing."""
        given = {"Host": self.host, **(headers or {})}
        connection = self.connection()
        try:
            connection.putrequest(verb, path, skip_host=True, skip_accept_encoding=True)
            for name, value in given.items():
                connection.putheader(name, value)
            if body is not None and "Content-Length" not in given and "Transfer-Encoding" not in given:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            came = connection.getresponse()
            return Answer(came.status, {name.lower(): value for name, value in came.getheaders()}, came.read())
        finally:
            connection.close()

    def get(self, path: str, query: Mapping[str, Any] | None = None, **headers: str) -> Answer:
        """Reads something, with the token."""
        if query:
            path = f"{path}?{urlencode(query, doseq=True)}"
        return self._checked("GET", path, {"Authorization": f"Bearer {self.token}", **headers})

    def post(self, path: str, body: Any = None, **headers: str) -> Answer:
        """Changes something, with the token; the body is JSON."""
        given = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", **headers}
        return self._checked("POST", path, given, json.dumps({} if body is None else body).encode())

    def _checked(self, verb: str, path: str, headers: Mapping[str, str], body: bytes | None = None) -> Answer:
        answer = self.send(verb, path, headers, body)
        self.contract.check(verb, path, answer)
        return answer


def part(text: str) -> str:
    """A part of a path."""
    return quote(text, safe="")
