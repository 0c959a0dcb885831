"""How what snapd does grows: with the files of a project, the steps of its history, the workspaces that are open."""

from __future__ import annotations

from .files import FILES
from .kind import Kind, Series, compared
from .steps import STEPS
from .workspaces import WORKSPACES

KINDS = {kind.what: kind for kind in (FILES, STEPS, WORKSPACES)}
"""What `--growth` names."""

__all__ = ["KINDS", "Kind", "Series", "compared"]
