"""Adds the events that came from another machine to the timeline of a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from snapd.core.model import Coverage
from snapd.core.timeline.model import (
    Event,
    Operated,
    SessionEnded,
    SessionStarted,
    MessageSent,
    Span,
    StepBegun,
    StepEnded,
    StepsLeft,
)
