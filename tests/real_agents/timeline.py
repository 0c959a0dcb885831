"""What snapd tells of a project, in lines that people can compare."""

from __future__ import annotations

import re
from typing import Any

import attrs
from snapd_client import Client

_CALL = re.compile(r"t\d\dx\d$")
"""The end of the name that the scripted model gives a call."""


@attrs.frozen
class Line:
    """Something that happened.

    Attributes:
        text: of the line; parts of a step are indented.
        id: of the step or the prompt, if it is one.
    """

    text: str
    id: str | None = None


def timeline(client: Client) -> list[Line]:
    """A line for each thing that happened, oldest first.

    The parts of a step stand below it, and the calls of one answer in its order, whichever the agent began first.
    """
    entries: list[Any] = [*client.session_history_all()]
    entries.reverse()
    steps = [entry["step"] for entry in entries if entry["kind"] == "step"]
    parts: dict[str | None, list[Any]] = {}
    for step in steps:
        parts.setdefault(step.get("parentStepId"), []).append(step)
    prompts = {prompt["messageId"]: prompt for prompt in _prompts(client, entries)}

    def lines_of(step: Any, indent: str) -> list[Line]:
        files = changes(step.get("files", []))
        state = "" if step["state"] == "applied" else f" ({step['state']})"
        text = f"{indent}{step['agent']} {step['tool']}: {files}{state}"
        below = [line for part in _in_order(parts.get(step["stepId"], [])) for line in lines_of(part, indent + "  ")]
        return [Line(text, step["stepId"]), *below]

    lines: list[Line] = []
    for group in _groups(entries):
        if group[0]["kind"] == "step":
            tops = [entry["step"] for entry in group if "parentStepId" not in entry["step"]]
            lines += [line for step in _in_order(tops) for line in lines_of(step, "")]
        elif group[0]["kind"] == "message":
            prompt = prompts[group[0]["messageId"]]
            lines.append(Line(_prompt(prompt), prompt["messageId"]))
        else:
            who = "you" if group[0]["kind"] == "user" else group[0]["kind"]
            lines.append(Line(f"{who}: {changes(group[0]['files'])}"))
    return lines


def changes(files: list[Any]) -> str:
    """The files that something changed, each with its status and lines."""
    status = {"added": "A", "modified": "M", "deleted": "D"}
    told = [f"{status[file['status']]} {file['file']} +{file['additions']} -{file['deletions']}" for file in files]
    return ", ".join(told) or "nothing"


def _prompt(prompt: Any) -> str:
    state = "" if prompt["state"] == "applied" else f" ({prompt['state']})"
    counts = f"{prompt['steps']} steps, {prompt['files']} files +{prompt['additions']} -{prompt['deletions']}"
    return f"prompt {prompt.get('text')!r}: {counts}{state}"


def _prompts(client: Client, entries: list[Any]) -> list[Any]:
    sessions = dict.fromkeys(entry["sessionId"] for entry in entries if entry["kind"] == "message")
    return [
        prompt
        for session in sessions
        for prompt in client.request("session/messages", {"sessionId": session})["messages"]
    ]


def _groups(entries: list[Any]) -> list[list[Any]]:
    """Each entry by itself, but steps that follow on each other together."""
    groups: list[list[Any]] = []
    for entry in entries:
        if groups and entry["kind"] == "step" == groups[-1][0]["kind"]:
            groups[-1].append(entry)
        else:
            groups.append([entry])
    return groups


def _in_order(steps: list[Any]) -> list[Any]:
    """By the names of their calls, where the agent tells these."""
    if all(_CALL.search(step.get("partId") or "") for step in steps):
        return sorted(steps, key=_place)
    return steps


def _place(step: Any) -> tuple[str, str]:
    found = _CALL.search(step["partId"])
    assert found is not None
    return step.get("messageId") or "", found[0]
