"""The frames between this process and the one that compares texts: a header, then the bytes that it announces."""

from __future__ import annotations

import struct

QUESTION = struct.Struct("<BII")
"""The kind of question, and the sizes of the old and the new text, bytes."""
COUNT = 1
"""Asks for the numbers of added and deleted lines, answered by `COUNTS`."""
HUNKS = 2
"""Asks for the hunks of a unified diff."""

ANSWER = struct.Struct("<I")
"""The size of the answer, bytes. The worker's first answer, before any question, is empty: it is ready."""
COUNTS = struct.Struct("<II")
"""Lines added, lines deleted."""
