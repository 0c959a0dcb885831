"""The groups in which help and `docs/cli.md` list the commands: by what somebody wants to do."""

from __future__ import annotations

GROUPS = {
    "look": ("status", "log", "sessions", "show", "diff", "patch", "files", "snapshots", "watch", "ui", "web"),
    "review": ("review", "keep", "blame"),
    "try out": ("export", "bisect"),
    "take back": ("undo", "redo", "revert-hunk", "revert", "restore"),
    "other machines": ("push", "fetch", "bundle", "unbundle", "handover", "takeover", "apply"),
    "agents": ("agent", "run", "acp", "mcp", "hook", "step", "session"),
    "keep": ("track", "stage", "gc", "du", "purge"),
    "service": ("doctor", "fsck", "serve", "connect", "stop", "completion", "help"),
}
"""The commands of each group, in the order in which they are listed. Every command belongs to one group."""
