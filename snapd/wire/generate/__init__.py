"""Everything that is generated from the wire contract: the reference, and what the clients need of it."""

from __future__ import annotations

from .markdown import protocol_markdown
from .python import methods_python, protocol_python
from .typescript import protocol_typescript
from .words import Agents, agent_words_python, words_lua, words_typescript

__all__ = ["outputs", "protocol_markdown", "protocol_python", "protocol_typescript"]


def outputs(agents: Agents) -> dict[str, str]:
    """Returns the text of each generated file by its path; `agents` has display names, from a table above the wire."""
    return {
        "docs/protocol.md": protocol_markdown(),
        "clients/typescript/src/protocol.ts": protocol_typescript(),
        "snapd/wire/agent_words.py": agent_words_python(agents),
        "clients/typescript/src/words.ts": words_typescript(agents),
        "clients/neovim/lua/snapd/words.lua": words_lua(agents),
        "clients/python/snapd_client/protocol.py": protocol_python(),
        "clients/python/snapd_client/methods.py": methods_python(),
    }
