"""Making durable what was written."""

from __future__ import annotations

import ctypes
import os


def sync_file_system(folder: str) -> None:
    """Makes durable what was written to a file system (`syncfs`, which Python does not have)."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        if ctypes.CDLL(None, use_errno=True).syncfs(descriptor) != 0:
            raise OSError(ctypes.get_errno(), "syncfs", folder)
    finally:
        os.close(descriptor)
