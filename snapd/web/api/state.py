"""`GET /status`: whether snapd is at work, and if not, why."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

from snapd.core.errors import SnapdError

from .asking import as_json

if TYPE_CHECKING:
    from starlette.responses import Response

    from .asking import Asked

SECONDS = 5.0
"""How long the daemon may take to answer."""


async def status(asked: Asked) -> Response:
    """The state of the folder; this route answers also where the daemon does not."""
    service = asked.service
    answer: dict[str, Any] = {
        "root": os.fsencode(service.folder).decode("utf-8", "replace"),
        "readOnly": service.read_only,
    }
    why = service.link.trouble
    if why is None:
        try:
            working = asked.work(lambda: asked.ask("snapshot/status", {}), service.quick)
            found = await asyncio.wait_for(working, SECONDS)
            why = _degraded(found)
            answer["status"] = found
        except TimeoutError:
            why = f"the daemon has not answered for {SECONDS:.0f} seconds"
        except SnapdError as error:
            why = error.message
    if why is not None:
        return as_json({"state": "degraded", "why": why, **answer})
    if not answer["status"]["enabled"]:
        return as_json({"state": "off", "why": _off(answer["status"]), **answer})
    return as_json({"state": "on", **answer})


def _degraded(found: dict[str, Any]) -> str | None:
    """What the daemon says is wrong."""
    return "; ".join(found.get("settingsProblems", ())) or None


def _off(found: dict[str, Any]) -> str:
    """Who has turned snapshots off."""
    sources = (each["source"] for each in found.get("settings", ()) if each["name"] == "snapshot")
    return f"snapshots are turned off by the setting 'snapshot' ({next(sources, 'default')})"
