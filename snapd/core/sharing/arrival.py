"""Adds the events that came from another machine to the timeline of a folder."""

from __future__ import annotations
