"""The table of methods is the contract's, and what is generated from it is fresh."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs
import pytest
from snapd_client.methods import IDEMPOTENT

from scripts.generate.__main__ import ROOT, SOURCES, main
from snapd.wire import notifications, session, sharing, snapshot, values, words
from snapd.wire.generate import outputs, protocol_markdown
from snapd.wire.methods import METHODS, NOTIFICATIONS

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("module", [values, snapshot, session, sharing, notifications])
def test_every_field_has_its_doc(module: object) -> None:
    classes = [each for each in vars(module).values() if isinstance(each, type) and attrs.has(each)]
    fields = [field for cls in {*classes} - {values.Hexadecimal, values.AtLeast} for field in values.fields_of(cls)]

    assert [field for field in fields if not field.metadata["doc"].endswith(".")] == []


def test_generated_files_are_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check", "--quick"]) == 0, capsys.readouterr().err


def test_check_names_the_stale_file_and_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "docs/design").mkdir(parents=True)
    for source in SOURCES:
        (tmp_path / source).write_bytes((ROOT / source).read_bytes())
    assert main(["--quick"], tmp_path) == 0
    assert {name: (tmp_path / name).read_text("utf-8") for name in outputs(words.AGENTS)} == outputs(words.AGENTS)
    assert main(["--check", "--quick"], tmp_path) == 0
    edited = tmp_path / "docs/protocol.md"
    edited.write_text("edited", "utf-8")
    capsys.readouterr()

    assert main(["--check", "--quick"], tmp_path) == 1

    assert "docs/protocol.md" in (said := capsys.readouterr().err)
    assert "protocol.ts" not in said
    assert edited.read_text("utf-8") == "edited"


def test_the_reference_has_every_method_and_no_unfilled_slot() -> None:
    page = protocol_markdown()

    assert re.findall(r"^### `(.+)`$", page, re.MULTILINE) == [*METHODS, *NOTIFICATIONS]
    assert "{{" not in page
    assert "| `limit?` | `integer` |" in page
    assert '| `onConflict?` | `"merge" \\| "fail" \\| "overwrite" \\| "keep"` |' in page
    anchors = {heading.lower().replace(" ", "-") for heading in re.findall(r"^#+ ([\w ]+)$", page, re.MULTILINE)}
    assert set(re.findall(r"\]\(#([^)]*)\)", page)) <= anchors


_ONCE = (
    "snapshot/check",
    "snapshot/export",
    "session/export",
    "session/handover",
    "session/takeover",
    "session/rewindChat",
)
"""What does something although it changes no folder by itself, or not at once."""


def test_what_may_be_sent_again_is_the_same_everywhere() -> None:
    assert {name: method.idempotent for name, method in METHODS.items()} == IDEMPOTENT
    for name, method in METHODS.items():
        if method.access != "writes" and name not in _ONCE:
            assert method.idempotent is True


def test_a_session_is_started_twice_as_once_where_it_has_a_name() -> None:
    start = METHODS["session/start"]
    assert start.may_repeat({"sessionId": "s", "agent": "a"})
    assert not start.may_repeat({"agent": "a"})
    assert not METHODS["session/undo"].may_repeat({"sessionId": "s"})
    assert METHODS["step/end"].may_repeat({"stepId": "s"})
