"""JSON for a hook: `json` loads `re` and `enum`, which takes a third of a hook's time.

The parts in C that `json` itself has do the work. `json` takes over what they refuse, and says what is wrong with it.
"""

from __future__ import annotations

from _json import encode_basestring, make_scanner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BLANKS = " \t\n\r"


class _Options:
    """What the scanner asks for, as `json.JSONDecoder(strict=False)` has it."""

    strict = False
    object_hook = object_pairs_hook = array_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


# typeshed knows the scanner's own attributes alone as what it may be given
_scan = make_scanner(_Options)  # type: ignore[arg-type]


def decode(text: str) -> Any:
    """The value that a JSON text stands for; raw control characters in its strings are allowed.

    Raises:
        ValueError: it is no JSON.
        RecursionError: it is nested too deeply.
    """
    stripped = text.strip(_BLANKS)
    try:
        value, end = _scan(stripped, 0)
    except StopIteration:
        end = -1
    if end == len(stripped):
        return value
    import json

    return json.loads(text, strict=False)


def encode(value: Any) -> str:
    """The JSON text of a value, without blanks; other characters than those of ASCII stay as they are."""
    if isinstance(value, str):
        return str(encode_basestring(value))
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return "{" + ",".join([f"{encode_basestring(name)}:{encode(each)}" for name, each in value.items()]) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join([encode(each) for each in value]) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if type(value) is int:
        return str(value)
    import json

    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
