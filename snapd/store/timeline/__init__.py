"""The timeline in the store: events as commits, which are the truth, and a database that is made of them."""

from __future__ import annotations

from .small_files import IntentFile
from .timeline import Timeline

__all__ = ["IntentFile", "Timeline"]
