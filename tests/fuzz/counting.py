"""What the process under atheris tells of itself."""

from __future__ import annotations

import struct

COUNT = struct.Struct("<QQ")
"""Inputs and frames, in a file that both map: libFuzzer ends its process without another word."""
