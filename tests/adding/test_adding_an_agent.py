"""An agent is a row of the table and a dialect."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .checkout import Checkout

ROW = """    Agent(
        name="toy",
        title="Toy Agent",
        colour="teal",
        programs=("toy",),
        folder=Folder(".toy", "TOY_HOME"),
        user=("settings.json",),
        project=(".toy/settings.json",),
        style="nested",
        events=_wired("Edit|Shell", "ToolBegins ToolEnds", "Asked Done"),
        tested="7.1",
    ),
"""
DIALECT = """        Dialect(
            "toy",
            {"Asked": PROMPT, "ToolBegins": BEGIN, "ToolEnds": END, "Done": STOP},
            answer_format="claude",
            reads_answer=("Asked", "ToolEnds"),
            one_at_a_time=True,
            variable="TOY_AGENT",
        ),
"""


def test_an_agent_is_two_places(checkout: Checkout) -> None:
    checkout.insert("snapd/agents/table.py", ")\n\nAGENTS: dict[str, Agent]", ROW)
    checkout.insert("snapd/hook/dialects.py", "        # it runs the calls of one answer in parallel\n", DIALECT)
    checkout.generate()

    assert checkout.touched == {"snapd/agents/table.py", "snapd/hook/dialects.py"}
    assert "| `toy` | `~/.toy/settings.json` | 7.1 | yes |" in checkout.read("docs/agents.md")
    assert "| Toy Agent | `snapd agent install toy` | start a new session |" in checkout.read("docs/start.md")
    assert " and Toy Agent." in checkout.read("README.md").replace("\n", " ").partition("Those for")[0]
    assert 'toy: { title: "Toy Agent", colour: "teal" }' in checkout.read("clients/typescript/src/words.ts")
    assert 'toy = { title = "Toy Agent", colour = "teal" }' in checkout.read("clients/neovim/lua/snapd/words.lua")

    checkout.snapd("agent", "install", "toy")
    settings = json.loads((checkout.work.parent / "home/.toy/settings.json").read_text("utf-8"))
    assert set(settings["hooks"]) == {"Asked", "ToolBegins", "ToolEnds", "Done"}
    assert settings["hooks"]["ToolEnds"][0]["matcher"] == "Edit|Shell"

    checkout.environment["TOY_AGENT"] = "1"

    def report(event: str, **fields: Any) -> None:
        payload = {"hook_event_name": event, "session_id": "s", "cwd": str(checkout.work), **fields}
        checkout.snapd("hook", stdin=json.dumps(payload))

    call = {"tool_name": "Edit", "tool_input": {"file_path": str(checkout.work / "a.txt")}, "tool_use_id": "c"}
    report("Asked", prompt="write a file")
    report("ToolBegins", **call)
    (checkout.work / "a.txt").write_text("a\n")
    report("ToolEnds", **call, tool_response={})
    report("Done")
    (session,) = json.loads(checkout.snapd("sessions", "--json"))["sessions"]
    assert (session["agent"], session["stepCount"]) == ("toy", 1)
    (step,) = (e for e in json.loads(checkout.snapd("log", "--json"))["entries"] if e["kind"] == "step")
    assert [file["file"] for file in step["files"]] == ["a.txt"]
