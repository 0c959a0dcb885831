"""The scenarios of `clients/conformance`, and what fits a pattern of theirs. Its README explains them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "clients" / "conformance"
MATCHING = json.loads((FOLDER / "matching.json").read_text("utf-8"))
SCENARIOS: dict[str, dict[str, Any]] = {
    f"{path.stem}: {scenario['name']}": scenario
    for path in sorted(FOLDER.glob("*.json"))
    if path.name != "matching.json"
    for scenario in json.loads(path.read_text("utf-8"))
}

_KINDS = {
    "string": lambda value: isinstance(value, str) and value != "",
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "hash": lambda value: isinstance(value, str) and re.fullmatch(r"[0-9a-f]{40}", value) is not None,
    "time": lambda value: (
        isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", value) is not None
    ),
}


def filled(value: Any, kept: dict[str, Any]) -> Any:
    """Params with what was kept in its places."""
    if isinstance(value, dict):
        if "$use" in value:
            return kept[value["$use"]]
        return {name: filled(each, kept) for name, each in value.items()}
    return [filled(each, kept) for each in value] if isinstance(value, list) else value


def misfit(pattern: Any, value: Any, kept: dict[str, Any], at: str = "") -> str | None:
    """Where a value does not fit a pattern; None if it does. What the pattern keeps goes into `kept`."""
    if isinstance(pattern, dict):
        return _misfit_of_object(pattern, value, kept, at)
    if isinstance(pattern, list):
        if not isinstance(value, list) or len(value) != len(pattern):
            return f"{at}: {value!r} is not an array of {len(pattern)}"
        for number, (wanted, each) in enumerate(zip(pattern, value, strict=True)):
            if problem := misfit(wanted, each, kept, f"{at}[{number}]"):
                return problem
        return None
    is_same = type(value) is type(pattern) and value == pattern
    return None if is_same else f"{at}: {value!r} is not {pattern!r}"


def _misfit_of_object(pattern: dict[str, Any], value: Any, kept: dict[str, Any], at: str) -> str | None:
    if "$use" in pattern:
        return misfit(kept[pattern["$use"]], value, kept, at)
    if "$is" in pattern:
        if not _KINDS[pattern["$is"]](value):
            return f"{at}: {value!r} is no {pattern['$is']}"
        if "$keep" in pattern:
            kept[pattern["$keep"]] = value
        return None
    if "$contains" in pattern:
        has = isinstance(value, str) and pattern["$contains"] in value
        return None if has else f"{at}: {value!r} does not contain {pattern['$contains']!r}"
    if "$has" in pattern:
        if not isinstance(value, list):
            return f"{at}: {value!r} is no array"
        for wanted in pattern["$has"]:
            if all(misfit(wanted, each, kept, at) for each in value):
                return f"{at}: nothing in {value!r} fits {wanted!r}"
        return None
    if not isinstance(value, dict):
        return f"{at}: {value!r} is no object"
    for name, wanted in pattern.items():
        if wanted == {"$absent": True}:
            if name in value:
                return f"{at}.{name}: there is {value[name]!r}"
        elif name not in value:
            return f"{at}.{name} is not there"
        elif problem := misfit(wanted, value[name], kept, f"{at}.{name}"):
            return problem
    return None
