"""Made-up settings: JSON with comments as people and programs write it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

_SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-9, 10**12), st.text(max_size=6), st.just('// "no" /* , } ]')
)
_VALUES: SearchStrategy[Any] = st.recursive(
    _SCALARS,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=4), below, max_size=3),
    max_leaves=6,
)
_THEIR_HOOK = st.sampled_from(
    [
        {"hooks": [{"type": "command", "command": "echo hook"}]},
        {"matcher": "Bash", "hooks": [{"type": "command", "command": "/usr/bin/snapd-like hook"}], "x": 1},
        {"command": "lint"},
        {"hooks": []},
    ]
)
_EVENTS = st.sampled_from(["PreToolUse", "PostToolUse", "Stop", "preToolUse", "stop", "SessionStart", "pre_write_code"])
_HOOKS = st.dictionaries(_EVENTS, st.lists(_THEIR_HOOK, max_size=2), max_size=3)


@st.composite
def settings(draw: DrawFn) -> str:
    """The text of settings."""
    value: dict[str, Any] = draw(
        st.dictionaries(st.text(max_size=4).filter(lambda name: name != "hooks"), _VALUES, max_size=3)
    )
    if draw(st.booleans()):
        value = {**value, "hooks": draw(_HOOKS)}
        value = dict(draw(st.permutations(list(value.items()))))
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    if draw(st.booleans()):
        text = json.dumps(value, indent=draw(st.sampled_from([None, 2, 4, "\t"])), ensure_ascii=draw(st.booleans()))
        text = text.replace("\n", newline)
    else:
        text = _written(draw, value, newline)
    return draw(st.sampled_from(["", "\ufeff"])) + text + draw(st.sampled_from(["", newline]))


def _written(draw: DrawFn, value: Any, newline: str) -> str:
    """A value, with space and comments wherever they may be."""
    between = st.lists(
        st.sampled_from([" ", "\t", newline, "/* [ */", f"// , }}{newline}", f'// "{newline}  ']), max_size=2
    ).map("".join)

    def write(value: Any) -> str:
        if isinstance(value, dict):
            parts = [f"{json.dumps(name)}{draw(between)}:{draw(between)}{write(each)}" for name, each in value.items()]
        elif isinstance(value, list):
            parts = [write(each) for each in value]
        else:
            return json.dumps(value)
        first, last = "{}" if isinstance(value, dict) else "[]"
        inside = ",".join(f"{draw(between)}{part}{draw(between)}" for part in parts)
        comma = "," if parts and draw(st.booleans()) else ""
        return f"{first}{inside}{comma}{draw(between)}{last}"

    return draw(between) + write(value) + draw(between)
