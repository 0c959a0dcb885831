"""Errors as the command line tells them: always with a hint, and never in the words of requests."""

from __future__ import annotations

import errno
import re
from typing import TYPE_CHECKING

import attrs
import pytest

from snapd.cli.terminal.errors import as_json, readable
from snapd.model import errors
from snapd.model.errors import InvalidParams, IoError, SnapdError, StorageFull
from snapd.wire.converter import wire_name
from snapd.wire.methods import METHODS
from tests.cli.steps import numbered, put, take

if TYPE_CHECKING:
    from tests.cli.running import Home

FIELDS = {wire_name(field.name) for method in METHODS.values() for field in attrs.fields(method.params)}
ODD = {name for name in FIELDS if not name.islower()}
"""The names of fields that are no words, and give themselves away."""


def kinds() -> list[type[SnapdError]]:
    return [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, SnapdError)]


@pytest.mark.parametrize(
    "error", [OSError("x"), OSError(errno.EIO, "x"), OSError(errno.EACCES, "x", "/a"), ValueError("x")]
)
def test_every_error_has_a_hint(error: Exception) -> None:
    told = readable(error)
    assert (isinstance(told, IoError), bool(told.message), bool(told.hint)) == (True, True, True)
    assert as_json(told)["error"].keys() >= {"kind", "message", "hint"}


def test_a_full_disk_is_one_without_a_name_too() -> None:
    assert isinstance(readable(OSError(errno.ENOSPC, "x")), StorageFull)


@pytest.mark.parametrize("kind", [kind for kind in kinds() if kind is not SnapdError])
def test_every_kind_has_a_hint(kind: type[SnapdError]) -> None:
    assert readable(kind("x")).hint == kind.default_hint != ""


@pytest.mark.parametrize(
    ("field", "message", "said"),
    [
        ("sessionId", "sessionId is not valid Unicode", "--session is not valid Unicode"),
        ("parentStepId", "parentStepId: unknown", "--parent: unknown"),
        ("files", "files: step 'x' did not change a", "step 'x' did not change a"),
        ("config.toml", "config.toml: wrong", "config.toml: wrong"),
    ],
)
def test_fields_are_called_as_on_the_command_line(field: str, message: str, said: str) -> None:
    told = readable(InvalidParams(message, field=field, hint="see `step/revertFiles` or `snapshot`"))
    assert told.message == said
    if field != "config.toml":
        assert told.hint == "see 'snapd undo STEP FILE' or 'snapshot'"


def test_real_errors_have_hints_and_speak_no_json_rpc(home: Home, project: str) -> None:
    put(project, {"src/many.txt": numbered(9), "data.bin": b"\0"})
    tree = home.track(project)
    step = take(home, project, "s", {"src/many.txt": numbered(9, l4=b"four"), "data.bin": b"\0\1"})
    calls: list[tuple[list[str | bytes], str]] = [
        (["show", f"many.txt@{tree}"], "did you mean 'src/many.txt'? "),
        (["show", f"src/man.txt@{tree}"], "did you mean 'src/many.txt'? "),
        (["revert", tree, "src/mny.txt", "-y"], "did you mean 'src/many.txt'? "),
        (["revert", tree, "my file", "-y"], "check the name; "),
        (["undo", step, "README.md", "-y"], ""),
        (["revert-hunk", step, "README.md", "1"], ""),
        (["revert-hunk", step, "data.bin", "1"], ""),
        (["revert-hunk", step, "src/many.txt", "9"], ""),
        (["step", "begin", "--session", b"\xff"], ""),
        (["step", "begin", "--session", "s", "--description", b"\xff"], ""),
        (["step", "begin", "--session", "s", "--parent", "0123"], ""),
        (["step", "end", "0123"], ""),
        (["step", "end"], ""),
        (["session", "end", "nope"], ""),
        (["log", "-n", "-1"], ""),
        (["gc", "--older-than", "-1"], ""),
        (["gc", "--older-than", "x"], ""),
        (["purge", "/etc/passwd", "-y"], ""),
        (["purge"], ""),
        (["diff", tree, "--file", "/etc/passwd"], ""),
        (["track", "--force", "/etc/passwd"], ""),
        (["track", "-C", "/"], ""),
        (["undo", "--session", "nope"], ""),
        (["serve", "--tcp", "x"], ""),
        (["serve", "--tcp", "127.0.0.1:0", "--token-file", "/nowhere"], ""),
        (["run", "--require", "--socket", "/nowhere/s", "--", "true"], ""),
        (["stop", "--socket", "/" + "x" * 200], ""),
    ]
    for words, hint in calls:
        done = home.run(project, *words)
        *_, error, last = ["", *done.err.splitlines()]
        assert done.code not in (0, 3), words
        assert last.startswith(f"hint: {hint}"), (words, done.err)
        assert error.startswith("snapd"), (words, done.err)
        assert not re.search(r"file:/|\[Errno", done.err), words
        assert not ODD & set(re.findall(r"\w+", done.err)), (words, done.err)
        assert "`" not in done.err, (words, done.err)
