"""Opens an address in the user's browser."""

from __future__ import annotations

import contextlib
import html
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from snapd.locations import Locations


@contextlib.contextmanager
def opened(url: str, locations: Locations) -> Iterator[None]:
    """Opens an address in the browser, by a file that only the user can read: the words of commands are public."""
    import webbrowser

    locations.make_runtime()
    path = os.path.join(locations.runtime, f"web-{os.getpid()}.html")
    shown = html.escape(url)
    # what an earlier process of this number left is replaced, whatever it is
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with open(os.open(path, flags, 0o600), "w", encoding="utf-8") as file:
        file.write(
            f'<!doctype html>\n<meta http-equiv="refresh" content="0; url={shown}">\n<a href="{shown}">snapd</a>\n'
        )

    def open_it() -> None:
        if not webbrowser.open(Path(path).as_uri()):
            print("snapd: no browser was found: open the address yourself", file=sys.stderr)

    # it may wait for the browser to end
    threading.Thread(target=open_it, name="snapd-web-open", daemon=True).start()
    try:
        yield
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
