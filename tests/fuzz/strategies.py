"""What is said to the daemon: JSON of the right kind and not, sessions, and what becomes of them on the way."""

from __future__ import annotations

import json
import types
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import attrs
from hypothesis import strategies as st

from snapd.wire.converter import wire_name
from snapd.wire.methods import METHODS
from snapd.wire.values import Hexadecimal, fields_of
from tests.rpc.machine import framed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CORPUS = Path(__file__).parent / "corpus"

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NUMBERS = st.integers(-(2**65), 2**65) | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXT
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=6
)
PATHS = st.sampled_from([
    "a.txt", "sub/b.txt", "sub", "new", ".", "..", "../a.txt", "/etc/passwd", ".git/config", "a.txt/x", "sub//b.txt",
    "./a.txt", "sub/../a.txt", "sub/", "file:///etc/passwd", "file://host/a", "FILE:a.txt", "~", "-rf", ":(top)",
    "%2e%2e/a", "\\..\\a", "con", ".GIT/x", "git~1", "�", "", " ", "a\0b", "a\u2028b", "a\nb", "x" * 300,
    "/".join(["d"] * 300),
])  # fmt: skip
DIRECTORIES = [
    "",
    ".",
    "out",
    "/",
    "//",
    "/dev/null",
    "/dev/null/x",
    "/proc/none/x",
    "file:///",
    "file://x/y",
    "/a\0b",
    "~",
]
"""Where an export may be asked to write to: nowhere that it can."""
TOLD = [
    "initialized",
    "workspace/didChangeWorkspaceFolders",
    "workspace/didChangeConfiguration",
    "textDocument/didOpen",
    "textDocument/didChange",
    "textDocument/didSave",
    "textDocument/didClose",
    "$/cancelRequest",
    "$/setTrace",
    "no/such",
]
"""Methods that are told, not asked."""
_LIFE = ["initialize", "shutdown", *TOLD]
METHOD_NAMES = [*METHODS, *_LIFE]
_READING = ["snapshot/track", "snapshot/status", "snapshot/listFiles", "snapshot/patch", "snapshot/events"]
_READING += ["session/list"]
_MORE = [b"\r\n", b"\r\n\r\n", b"\n", b":", b"Content-Length: 5\r\n", b"\0", b'"', b"["]


def value_of(annotation: Any, pool: Mapping[str, Sequence[Any]], name: str = "") -> st.SearchStrategy[Any]:
    """Values of a type of the wire.

    Args:
        pool: by the name of a field, values that mean something to the daemon that is asked.
    """
    origin = get_origin(annotation)
    if name in pool:
        return st.sampled_from(pool[name])
    if origin in (Union, types.UnionType):
        return st.one_of(*(value_of(each, pool, name) for each in get_args(annotation)))
    if origin is list:
        return st.lists(value_of(get_args(annotation)[0], pool, name), max_size=3)
    if origin is dict:
        return st.dictionaries(PATHS | TEXT, value_of(get_args(annotation)[1], pool), max_size=3)
    if origin is Literal:
        return st.sampled_from(get_args(annotation))
    if origin is Annotated:
        base, mark, *_ = get_args(annotation)
        if isinstance(mark, Hexadecimal):
            return st.sampled_from(pool["hash"]) | st.text("0123456789abcdef", min_size=40, max_size=40)
        return st.integers(1, 2**40) if base is int else st.sampled_from([0, 0.5, 7, 1e300])
    if name == "directory":
        return st.sampled_from(DIRECTORIES)
    if annotation is str:
        return PATHS | TEXT if name.startswith("file") or name == "force" else TEXT
    if attrs.has(annotation):
        return params_of(annotation, pool)
    return {int: st.integers(-(2**65), 2**65), bool: st.booleans(), float: st.floats(allow_nan=False)}.get(
        annotation, st.none()
    )


def params_of(cls: Any, pool: Mapping[str, Sequence[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Params of a class: mostly right, each field wrong or missing now and then, unknown ones among them."""
    required, optional = {}, {}
    for each in fields_of(cls):
        right = value_of(each.type, pool, each.name.rstrip("_"))
        (required if each.default is attrs.NOTHING else optional)[wire_name(each.name)] = st.one_of(right, right, JSON)
    if "workspaceUri" in optional:
        optional["workspaceUri"] = st.sampled_from([*pool["workspaceUri"], "file:///", "x", 5, ""])
        optional["workDoneToken"] = st.sampled_from(["t", 0, 2**70, None, [], 1.5])
    most = st.fixed_dictionaries(required, optional=optional)
    some = st.fixed_dictionaries({}, optional=required | optional)
    unknown = st.dictionaries(TEXT, JSON, max_size=2)
    return st.one_of(most, most, most, some, st.builds(lambda right, more: {**more, **right}, most, unknown))


def bodies(pool: Mapping[str, Sequence[Any]]) -> st.SearchStrategy[bytes]:
    """Messages that change no file: well-formed ones, and JSON of any kind."""
    ids = st.sampled_from([1, 2, "1", "x", -1, 2**53]) | SCALARS
    reading = st.sampled_from(_READING).flatmap(
        lambda method: st.fixed_dictionaries(
            {"jsonrpc": st.just("2.0"), "id": ids, "method": st.just(method)},
            optional={"params": params_of(METHODS[method].params, pool)},
        )
    )
    odd = st.fixed_dictionaries(
        {},
        optional={
            "jsonrpc": st.sampled_from(["2.0", "2.0", "2.0", "1.0", 2, None]),
            "id": ids,
            "method": st.sampled_from([*_READING, *_LIFE, "exit"]) | JSON,
            "params": JSON,
            "result": JSON,
        },
    )
    said = st.one_of(reading, reading, odd, JSON)
    return st.builds(lambda value: json.dumps(value, ensure_ascii=False).encode(), said)


@st.composite
def mutated(draw: st.DrawFn, session: st.SearchStrategy[bytes]) -> bytes:
    """A session of which some bytes are others, missing, twice there, or too many."""
    data = bytearray(draw(session))
    for _ in range(draw(st.integers(0, 4))):
        if not data:
            break
        at = draw(st.integers(0, len(data) - 1))
        end = min(len(data), at + draw(st.sampled_from([1, 1, 2, 8, 64])))
        kind = draw(st.sampled_from(["other", "gone", "twice", "more", "cut", "long"]))
        if kind == "other":
            data[at] = draw(st.integers(0, 255))
        elif kind == "gone":
            del data[at:end]
        elif kind == "twice":
            data[at:at] = data[at:end]
        elif kind == "more":
            data[at:at] = draw(st.sampled_from(_MORE))
        elif kind == "cut":
            del data[at:]
        elif draw(st.integers(0, 9)) == 0:
            data[at:at] = b"x" * 70_000
    return bytes(data)


def sessions(pool: Mapping[str, Sequence[Any]]) -> st.SearchStrategy[bytes]:
    """Streams of frames, whole ones and mutated ones, those of the corpus among them."""
    whole = st.builds(lambda each: b"".join(map(framed, each)), st.lists(bodies(pool), min_size=1, max_size=8))
    kept = st.sampled_from([path.read_bytes() for path in sorted(CORPUS.iterdir())])
    return st.one_of(whole, mutated(whole), mutated(kept))


def cuts(data: bytes, places: Sequence[float]) -> list[bytes]:
    """Bytes in pieces, cut at places between 0 and 1."""
    ends = [*sorted({int(place * len(data)) for place in places}), len(data)]
    return [data[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
