"""A second reader of JSON with comments: it takes out what JSON does not have, and leaves the rest to `json`."""

from __future__ import annotations

import json
import re
from typing import Any

_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_STRING_OR_LAST_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])', re.DOTALL)


def meaning(text: str) -> Any:
    """What a text means; None for one that holds nothing."""
    bare = _TOKEN.sub(lambda found: found[0] if found[0].startswith('"') else " ", text.removeprefix("\ufeff"))
    bare = _STRING_OR_LAST_COMMA.sub(lambda found: found[1] or "", bare)
    return json.loads(bare) if bare.strip() else None


def comments(text: str) -> list[str]:
    """The comments of a text, in order."""
    return [found for found in _TOKEN.findall(text) if not found.startswith('"')]
