"""The OpenAPI document (https://spec.openapis.org/oas/v3.1.0), made from the table of routes and the wire's classes."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

from snapd._version import __version__
from snapd.web.errors import MEDIA_TYPE, STATUS
from snapd.wire.errors import ERRORS
from snapd.wire.generate.classes import WireClass, one_line, without_links
from snapd.wire.generate.json_schema import object_schema, type_schema

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .routes import Input, Route

_DESCRIPTION = (
    "The history of one folder, and how to undo what agents did in it. Answers are the results of the "
    "methods of snapd's protocol. Every error is a problem (RFC 9457) with a `kind` that is stable, and a `hint` that "
    "says what to do. A name in a query or a body that the protocol does not know is refused."
)
_EVERYWHERE = ("unauthorized", "foreignHost", "foreignOrigin", "headTooLarge")
_WITH_BODY = ("readOnly", "bodyTooLarge", "bodyTooSlow", "wrongContentType")
_JSON = "application/json"


def document(routes: Iterable[Route], cookie: str) -> dict[str, Any]:
    """Returns the OpenAPI document; `cookie` is the cookie's name."""
    schemas: dict[str, Any] = {"Problem": _problem()}
    paths: dict[str, Any] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.verb.lower()] = _operation(route, _Schemas(schemas))
    paths["/login"] = {"post": _login()}
    paths["/openapi.json"] = {"get": _itself()}
    return {
        "openapi": "3.1.0",
        "info": {"title": "snapd", "version": __version__, "description": _DESCRIPTION},
        "security": [{"token": []}, {"cookie": []}],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(schemas.items())),
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "What `snapd web` prints."},
                "cookie": {"type": "apiKey", "in": "cookie", "name": cookie, "description": "What `/login` gives."},
            },
        },
    }


class _Schemas:
    def __init__(self, schemas: dict[str, Any]) -> None:
        self._schemas = schemas

    def refer(self, cls: WireClass) -> dict[str, Any]:
        """A reference to the schema of a class."""
        name = cls.__name__
        if name not in self._schemas:
            # before the fields are read: they may refer back to this class
            self._schemas[name] = {}
            self._schemas[name] |= object_schema(cls, self.refer)
        return {"$ref": f"#/components/schemas/{name}"}


def _operation(route: Route, schemas: _Schemas) -> dict[str, Any]:
    doc = inspect.cleandoc(route.params.__doc__ or "")
    summary, _, rest = doc.partition("\n\n")
    operation: dict[str, Any] = {
        "operationId": _operation_id(route),
        "summary": without_links(one_line(summary)),
        "parameters": [_parameter(each, schemas) for each in route.inputs if each.place != "body"],
        "responses": {"200": _answer(route, schemas), **_problems(_kinds(route))},
    }
    about = without_links(one_line(rest))
    if route.method is not None:
        about = f"{about} It stands for the method `{route.method.name}` of the protocol.".strip()
    if about:
        operation["description"] = about
    if route.verb == "POST":
        body = [each for each in route.inputs if each.place == "body"]
        operation["requestBody"] = {
            "required": any(each.required for each in body),
            "content": {_JSON: {"schema": _body(body, schemas)}},
        }
    return operation


def _operation_id(route: Route) -> str:
    words: list[str] = re.findall(r"[a-zA-Z]+", f"{route.verb.lower()} {route.path}")
    return words[0] + "".join(word[0].upper() + word[1:] for word in words[1:])


def _parameter(each: Input, schemas: _Schemas) -> dict[str, Any]:
    parameter: dict[str, Any] = {
        "name": each.name,
        "in": each.place,
        "required": each.required,
        "description": without_links(each.doc),
        "schema": type_schema(str if each.place == "path" and each.takes_many else each.kind, schemas.refer),
    }
    if each.takes_many and each.place == "query":
        # a list of words is comma-separated; file names may contain commas, so each is its own parameter
        parameter |= {"style": "form", "explode": not each.is_choice}
    return parameter


def _body(inputs: list[Input], schemas: _Schemas) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            each.name: {**type_schema(each.kind, schemas.refer), "description": without_links(each.doc)}
            for each in inputs
        },
        "required": [each.name for each in inputs if each.required],
    }


def _answer(route: Route, schemas: _Schemas) -> dict[str, Any]:
    if not route.results:
        return {
            "description": "The bytes." if len(route.media) > 1 else "The stream.",
            "content": {each: {"schema": {"type": "string"}} for each in route.media},
        }
    refs = [schemas.refer(each) for each in route.results]
    return {
        "description": "The answer.",
        "content": {_JSON: {"schema": refs[0] if len(refs) == 1 else {"anyOf": refs}}},
    }


def _kinds(route: Route) -> tuple[str, ...]:
    own = route.kinds if route.method is None else (*route.method.errors, *route.kinds)
    belongs = ("unknownSession", "unknownStep") if route.of_session else ()
    more = _WITH_BODY if route.verb == "POST" else ()
    return tuple(dict.fromkeys((*_EVERYWHERE, *more, "invalidParams", "workspaceNotOpen", *own, *belongs)))


def _problems(kinds: Iterable[str]) -> dict[str, Any]:
    by_status: dict[int, list[str]] = {}
    for kind in kinds:
        by_status.setdefault(STATUS[kind], []).append(kind)
    result = {str(status): _refusal(by_status[status]) for status in sorted(by_status)}
    # for a missing daemon and errors without a status of their own
    return {**result, "default": _refusal([])}


def _refusal(kinds: list[str]) -> dict[str, Any]:
    listed = " or ".join(f"`{kind}`" for kind in kinds)
    return {
        "description": f"A problem of the kind {listed}." if listed else "Any other problem.",
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }


def _problem() -> dict[str, Any]:
    fields = {
        "type": ("string", "`urn:snapd:problem:` and the kind."),
        "title": ("string", "The kind in words."),
        "status": ("integer", "The status of the answer."),
        "detail": ("string", "What is wrong, for people."),
        "kind": ("string", f"What is wrong, for programs: one of the protocol ({', '.join(ERRORS)}), or of HTTP."),
        "hint": ("string", "What to do next, for people."),
    }
    return {
        "type": "object",
        "description": "An error. It may have more fields that name what it is about, such as `field` or `file`.",
        "properties": {name: {"type": kind, "description": doc} for name, (kind, doc) in fields.items()},
        "required": list(fields),
    }


def _login() -> dict[str, Any]:
    schema = {"type": "object", "properties": {"token": {"type": "string"}}, "required": ["token"]}
    return {
        "operationId": "login",
        "summary": "Gives the cookie for the token. For the page; programs send the token with each request.",
        "security": [],
        "requestBody": {"required": True, "content": {_JSON: {"schema": schema}}},
        "responses": {
            "204": {"description": "The cookie is set."},
            **_problems((*_EVERYWHERE, *_WITH_BODY, "invalidParams")),
        },
    }


def _itself() -> dict[str, Any]:
    return {
        "operationId": "getOpenapiJson",
        "summary": "Returns this document.",
        "responses": {
            "200": {"description": "The document.", "content": {_JSON: {"schema": {"type": "object"}}}},
            **_problems(_EVERYWHERE),
        },
    }
