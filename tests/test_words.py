"""Words that are not used again: names that say what happens to a thing rather than what it is, and odd phrases.

`NAMES` are for variables, functions and parameters, `CLASSES` for classes, `MODULES` for files. A name counts whether
or not it is private. Strings are free: types of stored events and fields of the protocol keep their names.
"""

from __future__ import annotations

import ast
import functools
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHON = ("snapd", "clients/python", "scripts", "benchmarks")
OTHERS = {
    ".lua": ("clients/neovim/lua",),
    ".ts": ("clients/typescript/src", "vscode-extension/src"),
    ".tsx": ("clients/web/src",),
}
NAMES = {
    "about": "event_ids, subject",
    "attesting": "note_attribution",
    "desk": "host",
    "found": "backend, matches, result",
    "happening": "event_lines",
    "hear": "on_event",
    "heard": "notification, event",
    "hears": "reads_answer",
    "said": "text, message",
    "settling": "next_steps",
    "spoken_for": "ended_by_client",
    "tell": "format_*, notify, print_*",
    "telling": "messages",
    "told": "text, answer",
}
CLASSES = {
    "Asked": "ApiRequest",
    "Buried": "DeletedLines",
    "Desk": "ReviewHost",
    "Elsewhere": "RepairSources",
    "Found": "what is found: StoreLocation",
    "Holdings": "ObjectInventory",
    "LeavingOut": "TreeFilter",
    "LeftOut": "Exclusions",
    "Looking": "HookInspector",
    "Named": "Reachable",
    "Rested": "FoldSummary",
    "Taken": "SnapshotRecord",
    "Told": "Notice",
    "Touched": "FileChangeRow",
    "Touches": "Impact",
    "Turned": "Reversal",
    "Turning": "UndoResult",
    "Unfolded": "NotReadYet",
    "Wanted": "UndoRequest",
}
MODULES = {
    "attesting": "note_attribution",
    "buried": "deleted_lines",
    "elsewhere": "remote_sessions",
    "happening": "event_line",
    "holdings": "inventory",
    "hooked": "hook_run",
    "known": "daemon_candidates",
    "leaving": "push_plan",
    "meant": "did_you_mean",
    "others": "other_workspaces",
    "place": "workspace_lookup",
    "placing": "merge_into_index",
    "scene": "demo_project",
    "seen": "last_event",
    "settling": "next_steps",
    "similar": "suggestions",
    "staged": "stage_result",
    "staying": "exclude_options",
    "taken": "snapshot_records",
    "telling": "messages",
    "weighing": "size_estimate",
    "when": "time_spec",
}
PHRASES = {
    "by its name (an id)": "by its id",
    "by well-kept hands": "well maintained",
    "does it again": "redoes it",
    "has fetched it keeps it": "anyone who fetched it keeps a copy",
    "is no error": "is an outcome, not an error",
    "of our own making": "that snapd created",
    "to be let in": "to authenticate",
    "without a word": "silently",
}
PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs")


def python_files() -> list[Path]:
    files = [path for folder in PYTHON for path in sorted((ROOT / folder).rglob("*.py"))]
    return [path for path in files if "node_modules" not in path.parts]


@functools.cache
def definitions(path: Path) -> list[tuple[int, str, bool]]:
    """Each name that a module defines: its line, the name without leading underscores, whether it is a class."""
    names: list[tuple[int, str, bool]] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        match node:
            case ast.ClassDef():
                names.append((node.lineno, node.name, True))
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                names.append((node.lineno, node.name, False))
            case ast.arg():
                names.append((node.lineno, node.arg, False))
            case ast.Name(ctx=ast.Store()):
                names.append((node.lineno, node.id, False))
            case ast.Attribute(ctx=ast.Store()):
                names.append((node.lineno, node.attr, False))
            case ast.alias(asname=str(name)):
                names.append((0, name, False))
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                names.append((node.lineno, name, False))
    return [(line, name.lstrip("_"), is_class) for line, name, is_class in names]
