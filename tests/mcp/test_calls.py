"""One call of a tool, with a daemon that the test plays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from snapd.mcp.call import Call, Questions
from snapd.mcp.messages import RevisionTerms
from snapd.mcp.tools.table import TOOLS
from snapd.model.errors import Cancelled, IoError

from .peer import MIDDLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from snapd.mcp.call import Link

HASH = "ab" * 20


class Daemon:
    """Answers each method as the test says, and notes what was asked and whether that could be cancelled."""

    def __init__(self, **answers: Any) -> None:
        self.asked: list[tuple[str, bool]] = []
        self.params: dict[str, Any] = {}
        self._answers: dict[str, Any] = {name.replace("_", "/"): answer for name, answer in answers.items()}
        self.before: Callable[[str], None] = lambda _: None

    def request(self, method: str, params: Any, report: Any = None, cancellation: Any = None) -> Any:
        self.asked.append((method, cancellation is not None))
        self.params[method] = params
        self.before(method)
        answer = self._answers.get(method, {})
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def methods(self) -> list[str]:
        return [method for method, _ in self.asked]


def made(daemon: Daemon, sent: list[dict[str, Any]] | None = None) -> Call:
    send = [].append if sent is None else sent.append
    return Call(1, {}, RevisionTerms(MIDDLE, shows_forms=True), cast("Link", daemon), send, Questions(), None)


def test_a_checkpoint_that_is_cancelled_leaves_no_step_open() -> None:
    daemon = Daemon(
        step_find={"steps": []}, snapshot_track={"hash": HASH, "skipped": []}, step_begin={"stepId": "s", "hash": HASH}
    )
    call = made(daemon)
    daemon.before = lambda method: call.cancel() if method == "step/begin" else None
    TOOLS["checkpoint"].call(call, {"name": "now"})
    # whatever is written meanwhile is not its own
    assert daemon.params["step/end"] == {"stepId": "s", "files": []}
    assert daemon.asked[-3:] == [("step/begin", True), ("step/end", False), ("session/end", False)]


def test_a_checkpoint_that_fails_leaves_no_step_open() -> None:
    daemon = Daemon(
        step_find={"steps": []},
        snapshot_track={"hash": HASH, "skipped": []},
        step_begin={"stepId": "s", "hash": HASH},
        step_end=IoError("no space", errno="ENOSPC"),
    )
    with pytest.raises(IoError):
        TOOLS["checkpoint"].call(made(daemon), {"name": "now"})
    assert daemon.methods[-1] == "session/end"


@pytest.mark.parametrize(("tool", "arguments"), [("checkpoint", {"name": "now"}), ("diff", {"snapshot": HASH})])
def test_a_folder_without_snapshots_is_told(tool: str, arguments: dict[str, Any]) -> None:
    daemon = Daemon(step_find={"steps": []}, snapshot_track={"hash": None, "reason": "disabled", "skipped": []})
    with pytest.raises(Exception, match="snapshots of this folder are turned off"):
        TOOLS[tool].call(made(daemon), arguments)
    assert "step/begin" not in daemon.methods


def test_who_cancels_before_the_question_is_sent_is_not_asked() -> None:
    plan = {
        "applied": False,
        "files": [{"file": "a", "outcome": "restored"}],
        "steps": [],
        "details": {"diff": "", "additions": 0, "deletions": 0, "contested": []},
    }
    sent: list[dict[str, Any]] = []
    daemon = Daemon(session_undo=plan)
    call = made(daemon, sent)
    daemon.before = lambda method: call.cancel() if method == "session/undo" else None
    with pytest.raises(Cancelled):
        TOOLS["undo"].call(call, {})
    assert sent == []
    assert daemon.methods == ["session/undo"]


def test_nobody_is_asked_once_the_client_is_gone() -> None:
    questions = Questions()
    waiting = questions.new()
    questions.end()
    with pytest.raises(Cancelled):
        waiting.wait()
    with pytest.raises(Cancelled):
        questions.new()
