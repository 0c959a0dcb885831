"""What the two processes say to each other: a question is a header and two texts, an answer is a header and bytes."""

from __future__ import annotations

import struct

GREETING = b"snapd-differ 1\n"
"""Said once by the worker when it can be asked."""

QUESTION = struct.Struct("<BII")
"""What is asked for, and the sizes of the old and the new text, bytes."""
COUNT = 1
"""Asks for lines added and deleted, answered by `COUNTS`."""
HUNKS = 2
"""Asks for the hunks of a unified diff."""

ANSWER = struct.Struct("<I")
"""The size of the answer, bytes."""
COUNTS = struct.Struct("<II")
"""Lines added, lines deleted."""
