"""What agents' tools do: which of them only read, which name every file that they write, and which files these are."""

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
"""Tools that write no file of the folder, in lower case; each agent spells some of them in its own way."""

SUBAGENTS = frozenset({"agent", "task", "subagent", "delegate_to_agent", "run_subagent", "runsubagent"})
"""Tools that start another agent, whose own calls are reported."""

_OWN_SERVER = ("mcp__snapd__", "mcp_snapd_", "snapd_")
"""Our own tools, as agents name them: what they do is an operation, and no step."""

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
"""Characters of a command that name its step."""


def begins_step(tool: str) -> bool:
    """Whether a call of a tool may write files of the folder."""
    name = tool.lower()
    return name not in READING and name not in SUBAGENTS and not name.startswith(_OWN_SERVER)


def files_of(tool: str, given: Any) -> list[str] | None:
    """The files that a call says that it writes.

    Args:
        tool: its name.
        given: its input, as the agent reports it: a JSON object, or the text of a patch.

    Returns:
        Absolute or relative paths, each once; None if the tool does not name all of them.
    """
    if not is_edit(tool):
        return None
    found = named(given)[:_MOST_FILES]
    # an edit whose input nobody understands may have written anything
    return found or None


def described(tool: str, given: Any, folder: str) -> str | None:
    """A few words about a call, for people: its files, or what it says of itself, or its command.

    Args:
        tool: its name.
        given: its input.
        folder: absolute path, to which files are shown relative.
    """
    if is_edit(tool):
        names = [_relative(path_of(name), folder) for name in files_of(tool, given) or ()]
        return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "") or None
    words = _text(given, ("description", *_COMMANDS))
    return words.splitlines()[0][:_WORDS] if words else None


def command_of(tool: str, given: Any) -> str | None:
    """The command that a call runs; None for a call that runs none."""
    return None if is_edit(tool) else _text(given, _COMMANDS)


def _text(given: Any, keys: tuple[str, ...]) -> str | None:
    """The text of the first of some keys that has one."""
    for key in keys:
        text = given.get(key) if isinstance(given, dict) else None
        if isinstance(text, list):
            text = " ".join(word for word in text if isinstance(word, str))
        if isinstance(text, str) and text.strip():
            return text.strip()
    return None


def directory_of(given: Any, folder: str) -> str:
    """The directory that a call works in: its own if it names one, else that of its agent.

    Args:
        given: its input.
        folder: absolute path, where the agent works.
    """
    own = next((given[key] for key in _DIRECTORIES if given.get(key)), "") if isinstance(given, dict) else ""
    return os.path.join(folder, path_of(own)) if isinstance(own, str) and "\0" not in own else folder


def path_of(name: str) -> str:
    """The path that a name stands for, which may be a `file:` URI."""
    if name[:7].lower() != "file://":
        return name
    # imported late: few agents name files so
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
    found = [given[key] for key in _PATHS if isinstance(given.get(key), str) and given[key]]
    for key in _LISTS:
        for each in given[key] if isinstance(given.get(key), list) else ():
            found += [each] if isinstance(each, str) and each else _named(each) if isinstance(each, dict) else []
    for key in _PATCHES:
        if isinstance(given.get(key), str):
            found += _patched(given[key])
    return found


def _patched(patch: str) -> list[str]:
    """The files that a patch names."""
    if "***" not in patch:
        return []
    # imported late: most events have no patch
    import re

    return re.findall(_PATCHED, patch)


def _relative(path: str, folder: str) -> str:
    above = folder.rstrip("/") + "/"
    return path.removeprefix(above)
