"""What the tools of agents do, by name."""

from __future__ import annotations

EDITING = frozenset(
    (
        "apply_diff", "apply_patch", "applypatch", "create", "create_file", "createfile", "delete",
        "delete_file", "edit", "edit_file", "editfile", "editfiles", "edit_notebook", "insert_edit_into_file",
        "insert_into_file", "multi_edit", "multi_replace_string_in_file", "multiedit", "multiedits",
        "new_file", "notebookedit", "patch", "replace", "replace_in_file", "replace_string_in_file",
        "search_replace", "single_find_and_replace", "str_replace", "strreplace", "write", "write_file",
        "write_to_file", "writefile",
    )
)  # fmt: skip
"""Tools that name every file that they write, in lower case; each agent spells some of them in its own way."""


def is_edit(tool: str | None) -> bool:
    """Returns whether a tool names every file that it writes."""
    return tool is not None and tool.lower() in EDITING
