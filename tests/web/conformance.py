"""Compares answers with the OpenAPI document of the server that gave them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator

if TYPE_CHECKING:
    from .browser import Answer


class Contract:
    """An OpenAPI document.

    Args:
        document: as the server gives it.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self._validators: dict[int, Draft202012Validator] = {}

    def check(self, verb: str, path: str, answer: Answer) -> None:
        """Makes sure that an answer is one that the document tells of."""
        operation = self._operation(verb, path.partition("?")[0])
        if operation is None:
            assert answer.status in (404, 405, 401, 403, 421), (verb, path, answer)
            return
        responses = operation["responses"]
        assert answer.status < 400 or str(answer.status) in responses or answer.status == 503, (verb, path, answer)
        told = responses.get(str(answer.status), responses["default"])
        if "content" not in told:
            assert answer.body == b"", answer
            return
        kind = answer.headers["content-type"].partition(";")[0]
        assert kind in told["content"], (verb, path, answer)
        if "json" in kind:
            problems = list(self._validator(told["content"][kind]["schema"]).iter_errors(answer.json))
            assert problems == [], (verb, path, answer.json)

    def _operation(self, verb: str, path: str) -> dict[str, Any] | None:
        for template, operations in self.document["paths"].items():
            if re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(template)), path):
                found: dict[str, Any] | None = operations.get(verb.lower())
                return found
        return None

    def _validator(self, schema: dict[str, Any]) -> Draft202012Validator:
        if id(schema) not in self._validators:
            self._validators[id(schema)] = Draft202012Validator({**schema, "components": self.document["components"]})
        return self._validators[id(schema)]
