"""The tools of agents: which only read, and which files a call writes."""

from __future__ import annotations

import os

from snapd.model.tools import is_edit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

READING = frozenset(
    (
        "askuserquestion", "bashoutput", "codebase_search", "codesearch", "enterplanmode", "exitplanmode",
        "fetch", "fetchwebpage", "file_search", "findfiles", "get_errors", "glob", "google_web_search",
        "grep", "grep_search", "killbash", "killshell", "list", "list_dir", "list_directory",
        "listcodedefinitionnames", "listfiles", "listmcpresources", "listmcpresourcestool", "ls", "lsp",
        "notebookread", "plan_exit", "question", "read", "read_file", "read_many_files", "read_mcp_resource",
        "readfile", "readlints", "readmcpresourcetool", "search", "search_file_content", "searchfiles",
        "semanticsearch", "skill", "taskcreate", "taskget", "tasklist", "taskoutput", "taskstop",
        "taskupdate", "textsearch", "think", "todoread", "todowrite", "toolsearch", "update_plan",
        "use_skill", "view", "view_image", "viewimage", "waitforuser", "web_fetch", "web_search", "webfetch",
        "websearch", "write_todos",
    )
)  # fmt: skip
"""Tools that write no files, in lower case, in the spellings of all agents."""

READS = frozenset(("notebookread", "read", "read_file", "read_many_files", "readfile", "view"))
"""Those that show files whose names they are given."""

SUBAGENTS = frozenset({"agent", "task", "subagent", "delegate_to_agent", "run_subagent", "runsubagent"})
"""Tools that start another agent, whose calls are reported."""

_OWN_SERVER = ("mcp__snapd__", "mcp_snapd_", "snapd_")
"""The names of our own tools in agents: their work is an operation, not a step."""

_PATHS = (
    "file_path",
    "filePath",
    "filepath",
    "path",
    "notebook_path",
    "target_file",
    "absolute_path",
    "filename",
    "uri",
)
_DIRECTORIES = ("workdir", "cwd", "working_directory")
_LISTS = ("files", "paths", "file_paths", "filePaths", "edits", "changes")
_PATCHES = ("command", "patch", "patchText", "input", "diff", "patch_text")
_COMMANDS = ("command", "cmd", "script")
_PATCHED = r"(?m)^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+?)[ \t]*\r?$"
_MOST_FILES = 1000
_WORDS = 200
"""The most characters of a command in a step's description."""


def begins_step(tool: str) -> bool:
    """Whether a call of a tool may write files of the folder."""
    name = tool.lower()
    return name not in READING and name not in SUBAGENTS and not name.startswith(_OWN_SERVER)


def files_of(tool: str, given: Any) -> list[str] | None:
    """The paths that a call reports to write, each once; None if not all. `given` is an object or a patch's text."""
    if not is_edit(tool):
        return None
    result = named(given)[:_MOST_FILES]
    # an edit whose input is not understood may write any file
    return result or None


def described(tool: str, given: Any, folder: str) -> str | None:
    """A short description of a call: its files relative to `folder`, or its own description, or its command."""
    if is_edit(tool):
        names = [_relative(path_of(name), folder) for name in files_of(tool, given) or ()]
        return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "") or None
    words = _text(given, ("description", *_COMMANDS))
    return words.splitlines()[0][:_WORDS] if words else None


def command_of(tool: str, given: Any) -> str | None:
    """The command that a call runs, if any."""
    return None if is_edit(tool) else _text(given, _COMMANDS)


def _text(given: Any, keys: tuple[str, ...]) -> str | None:
    for key in keys:
        text = given.get(key) if isinstance(given, dict) else None
        if isinstance(text, list):
            text = " ".join(word for word in text if isinstance(word, str))
        if isinstance(text, str) and text.strip():
            return text.strip()
    return None


def directory_of(given: Any, folder: str) -> str:
    """The absolute directory of a call: its own if it names one, else `folder`."""
    own = next((given[key] for key in _DIRECTORIES if given.get(key)), "") if isinstance(given, dict) else ""
    return os.path.join(folder, path_of(own)) if isinstance(own, str) and "\0" not in own else folder


def path_of(name: str) -> str:
    """The path for a name, which may be a `file:` URI."""
    if name[:7].lower() != "file://":
        return name
    # imported late: few agents name files like that
    from urllib.parse import unquote

    return unquote("/" + name[7:].partition("/")[2], errors="surrogateescape")


def named(given: Any) -> list[str]:
    """The files that the input of a call names, each once."""
    return list(dict.fromkeys(_named(given)))


def _named(given: Any) -> list[str]:
    if isinstance(given, str):
        return _patched(given)
    if not isinstance(given, dict):
        return []
    matches = [given[key] for key in _PATHS if isinstance(given.get(key), str) and given[key]]
    for key in _LISTS:
        for each in given[key] if isinstance(given.get(key), list) else ():
            matches += [each] if isinstance(each, str) and each else _named(each) if isinstance(each, dict) else []
    for key in _PATCHES:
        if isinstance(given.get(key), str):
            matches += _patched(given[key])
    return matches


def _patched(patch: str) -> list[str]:
    if "***" not in patch:
        return []
    # imported late: most events have no patch
    import re

    return re.findall(_PATCHED, patch)


def _relative(path: str, folder: str) -> str:
    above = folder.rstrip("/") + "/"
    return path.removeprefix(above)
