"""All products, in the order of the table."""

from __future__ import annotations

from .claude import ClaudeCode
from .cline import ClineCli
from .codex import CodexCli
from .disk import GitStash
from .gemini import GeminiCli, GeminiRestore, QwenCode
from .opencode import Kilo, OpenCodeServer
from .product import Product
from .snapd import SnapdClaude, SnapdCodex, SnapdGemini, SnapdOpenCode, SnapdQwen

PRODUCTS: dict[str, type[Product]] = {
    kind.name: kind
    for kind in (
        GitStash,
        ClaudeCode,
        OpenCodeServer,
        Kilo,
        GeminiCli,
        GeminiRestore,
        QwenCode,
        ClineCli,
        CodexCli,
        SnapdClaude,
        SnapdOpenCode,
        SnapdGemini,
        SnapdQwen,
        SnapdCodex,
    )
}
