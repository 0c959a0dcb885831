"""Words that are not used again: names that say what happens to a thing rather than what it is, and odd phrases.

`NAMES` are for variables, functions and parameters, `CLASSES` for classes, `MODULES` for files. A name counts whether
or not it is private. Strings are free: types of stored events and fields of the protocol keep their names. In
TypeScript and Lua, each identifier counts, and `found` is free.
"""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PYTHON = ("snapd", "clients/python", "scripts", "benchmarks")
NAMES = {
    "ABOUT": "SESSION_OPERATIONS",
    "HEARD": "SPAN_STEPS",
    "SEEN": "STEP_EVENTS",
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
STORED = (
    "snapd/core/actions/sessions.py",
    "snapd/core/actions/step_changes.py",
    "snapd/model/timeline.py",
    "snapd/store/timeline/queries.py",
)
EXCEPTIONS = {
    # fields of answers in JSON, which are a contract
    ("snapd/agents/status.py", "found"),
    ("snapd/cli/commands/agent.py", "found"),
    ("snapd/cli/commands/doctor.py", "found"),
    ("snapd/wire/sharing.py", "told"),
    ("clients/python/snapd_client/protocol.py", "told"),
    # a column of `timeline.db`, and a field of the stored event
    *((path, "spoken_for") for path in STORED),
}
SCRIPTS = ("clients/neovim/lua", "clients/typescript", "clients/web", "vscode-extension")
SCRIPT_NAMES = {**NAMES, **CLASSES, "meant": "target, relevant"}
del SCRIPT_NAMES["found"]
# where a comment or a string begins, an identifier cannot; a regular expression with a quote in it costs one line
COMMENT_OR_STRING = {
    ".lua": r"--[^\n]*|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'",
    ".ts": r"/\*.*?\*/|//[^\n]*|\"(?:[^\"\\\n]|\\.)*\"|`(?:[^`\\]|\\.)*`",
}
PHRASES = {
    "by well-kept hands": "well maintained",
    "does it again": "redoes it",
    "fetched it keeps it": "anyone who fetched it keeps a copy",
    "of our own making": "that snapd created",
    "to be let in": "to authenticate",
}


SCRIPT_PHRASES = {**PHRASES, "any more": "no longer", "somebody": "someone, a user"}


def script_files() -> list[Path]:
    """Sources and tests in TypeScript and Lua, without generated files."""
    folders = [ROOT / folder / part for folder in SCRIPTS for part in ("", "src", "test")]
    folders = [folder for folder in folders if folder.name in ("src", "test", "lua")]
    files = [path for folder in folders for path in sorted(folder.rglob("*")) if path.suffix in (".lua", ".ts", ".tsx")]
    return [path for path in files if path.name != "protocol.ts"]


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


def identifiers(code: str, suffix: str) -> list[tuple[int, str]]:
    """The words of a script outside of its comments and strings, each with its line."""
    skipped = COMMENT_OR_STRING[suffix.replace("tsx", "ts")]
    rest = re.sub(skipped, lambda match: "\n" * match[0].count("\n") or " ", code, flags=re.DOTALL)
    lines = enumerate(rest.split("\n"), 1)
    return [(number, name) for number, line in lines for name in re.findall(r"[A-Za-z_]\w*", line)]


def test_names() -> None:
    assert [
        f"{path.relative_to(ROOT)}:{line}: {name}: use {NAMES[name]}"
        for path in python_files()
        for line, name, is_class in definitions(path)
        if not is_class and name in NAMES and (str(path.relative_to(ROOT)), name) not in EXCEPTIONS
    ] == []


def test_names_of_classes() -> None:
    assert [
        f"{path.relative_to(ROOT)}:{line}: {name}: use {CLASSES[name]}"
        for path in python_files()
        for line, name, is_class in definitions(path)
        if is_class and name in CLASSES
    ] == []


def test_names_of_modules() -> None:
    packages = (path for path in python_files() if path.is_relative_to(ROOT / "snapd"))
    assert [str(path.relative_to(ROOT)) for path in packages if path.stem.lstrip("_") in MODULES] == []


def test_phrases() -> None:
    """In messages, comments and pages."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *python_files()]
    pattern = re.compile("|".join(map(re.escape, PHRASES)))
    assert [
        f"{path.relative_to(ROOT)}:{number}: {match[0]}: write {PHRASES[match[0]]}"
        for path in pages
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1)
        for match in pattern.finditer(line)
    ] == []


def test_names_in_scripts() -> None:
    assert [
        f"{path.relative_to(ROOT)}:{line}: {name}: use {SCRIPT_NAMES[name]}"
        for path in script_files()
        for line, name in identifiers(path.read_text(encoding="utf-8"), path.suffix)
        if name in SCRIPT_NAMES
    ] == []


def test_phrases_in_scripts() -> None:
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, SCRIPT_PHRASES))})\b")
    assert [
        f"{path.relative_to(ROOT)}:{number}: {match[0]}: write {SCRIPT_PHRASES[match[0]]}"
        for path in script_files()
        if "test" not in path.relative_to(ROOT).parts
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1)
        for match in pattern.finditer(line)
    ] == []


def test_identifiers_are_outside_of_comments_and_strings() -> None:
    code = '/* told\n */ const a = `said ${b}`; // told\nthis.#told("hear\\"d");'
    assert [name for line, name in identifiers(code, ".ts") if line == 3] == ["this", "told"]
    assert [name for _, name in identifiers("-- told\nself:tell('said') --[[ told ]]", ".lua")] == ["self", "tell"]


@pytest.mark.parametrize(
    "code",
    [
        "found = 1",
        "for found in (): pass",
        "[found for found in ()]",
        "self.told = 1",
        "def _tell(): pass",
        "def f(said): pass",
        "with open('a') as heard: pass",
        "import os as told",
        "HEARD = ''",
    ],
)
def test_each_way_to_define_a_name_counts(tmp_path: Path, code: str) -> None:
    path = tmp_path / "module.py"
    path.write_text(code, encoding="utf-8")
    assert [name for _, name, _ in definitions(path) if name in NAMES]
