"""The table of tools. A new tool is a row here, a class of arguments, a class of results, and a function."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import attrs

from snapd.model.errors import InvalidParams
from snapd.wire import converter
from snapd.wire.generate.classes import one_line
from snapd.wire.generate.json_schema import object_schema

from . import changing, commenting, finding, looking, params, results

if TYPE_CHECKING:
    from collections.abc import Callable

    from snapd.mcp.call import Call, Outcome

P = TypeVar("P", bound=attrs.AttrsInstance)


@attrs.frozen
class Hints:
    """What clients may show about a tool before they call it (`ToolAnnotations`).

    `destroys` means that it may overwrite or delete files, `repeats` that a second call changes nothing more.
    """

    reads: bool = False
    destroys: bool = False
    repeats: bool = False


_READS = Hints(reads=True, repeats=True)
_CHANGES = Hints(destroys=True)


@attrs.frozen
class Tool(Generic[P]):
    """A tool; the docstring of `params` is its description for models."""

    name: str
    title: str
    params: type[P]
    result: type[attrs.AttrsInstance]
    run: Callable[[Call, P], Outcome]
    hints: Hints

    def call(self, call: Call, arguments: Any) -> Outcome:
        """Checks the client's arguments and runs the tool. Raises `InvalidParams` if they do not fit."""
        try:
            given = converter.structure(arguments, self.params, forbid_extra=True)
        except converter.InvalidParams as error:
            raise InvalidParams(
                str(error), hint=f"the inputSchema of `{self.name}` lists its arguments", field=error.field
            ) from error
        return self.run(call, given)

    def as_json(self) -> dict[str, Any]:
        """The tool's entry in `tools/list`."""
        return {
            "name": self.name,
            "title": self.title,
            "description": "\n\n".join(map(one_line, inspect.cleandoc(self.params.__doc__ or "").split("\n\n"))),
            "inputSchema": _closed(_schema(self.params)),
            "outputSchema": _or_failure(_schema(self.result)),
            "annotations": {
                "title": self.title,
                "readOnlyHint": self.hints.reads,
                "destructiveHint": self.hints.destroys,
                "idempotentHint": self.hints.repeats,
                "openWorldHint": False,
            },
        }


def _schema(cls: type[attrs.AttrsInstance]) -> dict[str, Any]:
    # some clients do not resolve references
    return object_schema(cls, _schema)


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of arguments without the description, closed, as `Tool.call` refuses unknown arguments."""
    return {**{key: value for key, value in schema.items() if key != "description"}, "additionalProperties": False}


def _or_failure(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of results or an error, as clients also validate results with `isError`."""
    properties = {**schema["properties"], "error": _schema(results.Failure)}
    either = [{"required": schema["required"]}, {"required": ["error"]}]
    return {"type": "object", "description": schema["description"], "properties": properties, "anyOf": either}


TOOLS: dict[str, Tool[Any]] = {
    tool.name: tool
    for tool in (
        Tool("history", "History", params.HistoryParams, results.History, looking.history, _READS),
        Tool("show", "Show a step", params.ShowParams, results.ShownStep, looking.show, _READS),
        Tool("diff", "Diff since", params.DiffParams, results.Difference, looking.diff, _READS),
        Tool("blame", "Who wrote it", params.BlameParams, results.Blame, looking.blame, _READS),
        Tool(
            "checkpoint",
            "Checkpoint",
            params.CheckpointParams,
            results.Checkpoint,
            finding.checkpoint,
            Hints(repeats=True),
        ),
        Tool("undo", "Undo steps", params.UndoParams, results.ChangeResult, changing.undo, _CHANGES),
        Tool("redo", "Redo steps", params.RedoParams, results.ChangeResult, changing.redo, _CHANGES),
        Tool(
            "restore_file",
            "Restore a file",
            params.RestoreFileParams,
            results.ChangeResult,
            changing.restore_file,
            Hints(destroys=True, repeats=True),
        ),
        Tool("comments", "Comments", params.CommentsParams, results.Comments, commenting.comments, _READS),
        Tool("reply", "Reply", params.ReplyParams, results.RepliedComment, commenting.reply, Hints()),
    )
}
"""Every tool by name, in the order of `tools/list`."""
