"""The OpenAPI document: it is well-formed, and tells of all that there is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from snapd.wire.methods import METHODS, NOTIFICATIONS

from .browser import Answer
from .conformance import Contract

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .browser import Web

VERBS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}


@pytest.fixture(scope="module")
def document(web: Web) -> dict[str, Any]:
    found: dict[str, Any] = web.get("/openapi.json").json
    return found


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, verbs in document["paths"].items():
        assert verbs.keys() <= VERBS, path
        for verb, operation in verbs.items():
            yield verb, path, operation


def nodes(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from nodes(each)


def test_it_is_well_formed(document: dict[str, Any]) -> None:
    """By the rules of OpenAPI 3.1.0 for what it uses of it."""
    assert re.fullmatch(r"3\.1\.\d+", document["openapi"])
    assert document.keys() == {"openapi", "info", "security", "paths", "components"}
    assert document["info"].keys() == {"title", "version", "description"}
    ids = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(ids) == len(set(ids))
    for verb, path, operation in operations(document):
        assert operation.keys() <= {
            "operationId", "summary", "description", "parameters", "requestBody", "responses", "security",
        }  # fmt: skip
        given = operation.get("parameters", [])
        in_path = [each["name"] for each in given if each["in"] == "path"]
        assert sorted(in_path) == sorted(re.findall(r"\{(\w+)\}", path)), path
        assert len({(each["in"], each["name"]) for each in given}) == len(given)
        for each in given:
            assert each["in"] in ("path", "query")
            assert each["in"] != "path" or each["required"] is True
            assert each.keys() <= {"name", "in", "required", "description", "schema", "style", "explode"}
            Draft202012Validator.check_schema(each["schema"])
        assert ("requestBody" in operation) == (verb == "post")
        for status, response in operation["responses"].items():
            assert status == "default" or re.fullmatch(r"[2-5]\d\d", status)
            assert response["description"]
    schemes = document["components"]["securitySchemes"]
    assert [{*each} for each in document["security"]] == [{name} for name in schemes]


def test_every_schema_is_one(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    for name, schema in schemas.items():
        Draft202012Validator.check_schema(schema)
        assert schema["description"], name
    named = {node["$ref"] for node in nodes(document) if isinstance(node.get("$ref"), str)}
    assert named == {f"#/components/schemas/{name}" for name in schemas}


def test_names_are_those_of_the_contract(document: dict[str, Any]) -> None:
    """The routes as they were agreed upon, each with its verb."""
    assert {f"{verb.upper()} {path}" for verb, path, _ in operations(document)} == {
        "GET /session",
        "GET /session/{id}/steps",
        "GET /session/{id}/messages",
        "GET /session/{id}/history",
        "GET /session/{id}/review",
        "GET /session/{id}/steps/{stepId}/changes",
        "GET /session/{id}/steps/{stepId}/diff",
        "GET /session/{id}/steps/{stepId}/hunks",
        "POST /session/{id}/steps/{stepId}/revert-files",
        "POST /session/{id}/steps/{stepId}/revert-hunks",
        "POST /session/{id}/undo",
        "POST /session/{id}/redo",
        "POST /session/{id}/rewind-chat",
        "POST /session/{id}/review/keep",
        "POST /session/{id}/review/revert",
        "GET /session/{id}/diff",
        "POST /session/{id}/revert",
        "POST /session/{id}/unrevert",
        "GET /history",
        "GET /activity",
        "GET /review",
        "GET /review/file",
        "POST /review/keep",
        "POST /review/revert",
        "GET /review/comments",
        "POST /review/comments",
        "POST /review/comments/{commentId}/resolve",
        "GET /blame",
        "GET /snapshot",
        "GET /snapshot/{hash}/files",
        "GET /diff",
        "GET /content",
        "GET /search",
        "GET /status",
        "GET /events",
        "GET /openapi.json",
        "POST /login",
    }


def test_what_is_required(document: dict[str, Any]) -> None:
    """As on the wire: what has no default."""
    found = {}
    for verb, path, operation in operations(document):
        query = [each["name"] for each in operation.get("parameters", []) if each["in"] == "query" and each["required"]]
        body = operation.get("requestBody")
        schema = body["content"]["application/json"]["schema"] if body else {"required": []}
        assert body is None or body["required"] is bool(schema["required"])
        if query or schema["required"]:
            found[f"{verb} {path}"] = query + schema["required"]
    assert found == {
        "get /session/{id}/steps/{stepId}/hunks": ["file"],
        "post /session/{id}/steps/{stepId}/revert-files": ["files"],
        "post /session/{id}/steps/{stepId}/revert-hunks": ["file", "hunks"],
        "post /session/{id}/revert": ["messageId"],
        "post /session/{id}/rewind-chat": ["messageId"],
        "get /activity": ["since"],
        "get /review/file": ["file"],
        "post /review/comments": ["text"],
        "get /blame": ["file"],
        "get /diff": ["from"],
        "get /content": ["file"],
        "get /search": ["q"],
        "post /login": ["token"],
    }


def test_every_method_that_a_route_stands_for_is_there(document: dict[str, Any]) -> None:
    said = " ".join(operation.get("description", "") for _, _, operation in operations(document))
    named = set(re.findall(r"`(\w+/\w+)`", said))
    assert named <= METHODS.keys() | NOTIFICATIONS.keys()
    assert len(named & METHODS.keys()) > 20


def test_an_answer_that_is_none_of_them_would_be_seen(document: dict[str, Any]) -> None:
    contract = Contract(document)
    json = {"content-type": "application/json"}
    contract.check("GET", "/session", Answer(200, json, b'{"sessions": []}'))
    for wrong in (
        Answer(200, json, b"{}"),
        Answer(200, json, b'{"sessions": [{"sessionId": 1}]}'),
        Answer(200, {"content-type": "text/html"}, b'{"sessions": []}'),
        Answer(418, {"content-type": "application/problem+json"}, b"{}"),
    ):
        with pytest.raises(AssertionError):
            contract.check("GET", "/session", wrong)
