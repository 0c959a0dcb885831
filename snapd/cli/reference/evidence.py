"""Writes `docs/design/evidence.md`: what pages say, and the tests behind it."""

from __future__ import annotations

import tomllib

from snapd.wire.generate.classes import BANNER

_HEAD = f"""\
<!-- {BANNER} -->

# Evidence

What the pages for users say, and the test behind each claim. The source is [evidence.toml](evidence.toml); a test
checks that the pages say so and that the tests exist. `hazard N` is a test of `tests/hazards`, and `name.mjs::scenario`
runs in a real editor or browser.
"""


def text(source: str) -> str:
    """The page.

    Args:
        source: the text of `docs/design/evidence.toml`.
    """
    parts = [_HEAD]
    for page, claims in tomllib.loads(source).items():
        parts.append(f"\n## {page}\n\n| claim | shown by |\n|---|---|\n")
        parts += [
            f"| {claim.replace(' | ', ': ')} | {', '.join(map(_named, shown))} |\n" for claim, shown in claims.items()
        ]
    return "".join(parts)


def _named(shown: str) -> str:
    name, note, rest = shown.partition(" (")
    return f"{name if name.startswith('hazard') else f'`{name}`'}{note}{rest}"
