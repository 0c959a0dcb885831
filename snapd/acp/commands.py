"""The slash commands that the proxy answers itself: `/undo`, `/redo`, `/rewind` and `/steps`."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, cast

import attrs

from snapd.backend import ChatRewind, with_short_ids
from snapd.model.errors import InvalidParams, NothingToUndo, PlanChanged, UnknownStep
from snapd.wire.words import moves_git

from .messages import WITH_GIT, Offer
from .notices import NOTHING_RECORDED, code, done, file_lines, plain, turn_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from snapd_client.protocol import Chat, SessionRedoParams, SessionUndoParams, Step, StepsOutcome

    from snapd.backend import Backend

    from .turns import Turns


Method = Literal["session/undo", "session/redo", "session/revert"]

OFFERS = (
    Offer(
        "undo",
        "Undo what the last prompt changed in your files (snapd)",
        "a number of prompts, or a step; --git for git, too",
    ),
    Offer("redo", "Redo what /undo undid last (snapd)", "a number of prompts; --git for git, too"),
    Offer(
        "rewind",
        "Go back to before the last prompt, with files and conversation (snapd)",
        "a number of prompts; --git for git, too",
    ),
    Offer("steps", "List what the agent changed, step by step (snapd)", "a number of prompts"),
)
_COMMAND = re.compile(
    r"/(?P<name>undo|redo|rewind|steps)(?P<git>[ \t]+--git)?(?:[ \t]+(?P<rest>\S+))?(?P<git_last>[ \t]+--git)?",
    re.ASCII,
)
_COUNT = re.compile(r"[1-9][0-9]{0,2}", re.ASCII)
_STEP = re.compile(r"[0-9a-f]{4,64}", re.ASCII)
_LOOKED_AT = 100
"""Steps in the first request; a session may have thousands."""
_LISTS = "`/steps` lists what it changed"
_LISTED = 5
"""The most prompts that `/steps` lists and that a question shows."""
_MOST_STEPS = 1000
_LONGEST = 1000
"""The most characters of a line about the conversation."""


@attrs.frozen
class Command:
    """A slash command: its name without the slash, the word after it, if any, and whether it has `--git`."""

    name: str
    rest: str | None
    git: bool = False


@attrs.frozen
class Question:
    """A plan to confirm; `params` without `dryRun` and `expect`, `was_other` if another plan was shown before.

    `with_git` is the same with git, if this plan leaves it.
    """

    method: Method
    params: SessionUndoParams
    name: str
    plan: StepsOutcome
    was_other: bool = False
    with_git: Question | None = None
    chat: Chat | None = None

    @property
    def title(self) -> str:
        """The question in one line."""
        if self.method == "session/revert":
            return f"Go back to before {self.name}?"
        return f"{'Undo' if self.method == 'session/undo' else 'Redo'} {self.name}?"

    @property
    def text(self) -> str:
        """The plan as Markdown."""
        why = "Something has changed since. This is the new plan:\n\n" if self.was_other else ""
        is_redo = self.method == "session/redo"
        text = why + file_lines(self.plan, redone=is_redo)
        text += "" if self.chat is None else f"\n\nConversation: {plain(_about(self.chat), _LONGEST)}"
        if self.with_git is None:
            return text
        return f"{text}\n\n{WITH_GIT}:\n\n{file_lines(self.with_git.plan, redone=is_redo)}"


def command_in(prompt: str) -> Command | None:
    """Parses a prompt as a command; None if it is a prompt for the agent."""
    match = _COMMAND.fullmatch(prompt.strip())
    if match is None:
        return None
    return Command(match["name"], match["rest"], (match["git"] or match["git_last"]) is not None)


def answer(backend: Backend, turns: Turns, command: Command, *, is_busy: bool) -> str | Question:
    """Runs a command and returns Markdown, or a question to confirm; `is_busy` means that the agent was working."""
    if command.name == "steps":
        return _steps(backend, turns, command)
    if is_busy:
        return f"The agent is still working. Stop it or wait until it is done, then type `/{command.name}` again."
    count = _count(command)
    if command.name == "rewind":
        return _rewind(backend, turns, count or 1, git=command.git)
    if command.name == "redo" and count is None:
        return _planned(backend, turns, "session/redo", {"whole": True, "git": command.git})
    if command.name == "redo" or command.rest is None or count is not None:
        method: Method = "session/redo" if command.name == "redo" else "session/undo"
        return _of_turns(backend, turns, method, count or 1, git=command.git)
    step_id = _step(backend, turns, command.rest)["stepId"]
    return _planned(backend, turns, "session/undo", {"stepId": step_id, "git": command.git})


def carry_out(backend: Backend, turns: Turns, question: Question) -> str | Question:
    """Carries out the plan and returns Markdown, or a new question if it changed. Raises `SnapdError`."""
    params: Any = {**question.params, "expect": question.plan["plan"]}
    try:
        result = _request(backend, question.method, params)
    except PlanChanged as error:
        return _question(backend, turns, question.method, question.params, error.data["outcome"], was_other=True)
    shown, is_redo = with_short_ids(backend, _with_steps(result)), question.method == "session/redo"
    text = done(shown, question.name, turns.recording.folder, redone=is_redo)
    if question.chat is None:
        return text
    chat = _chat(backend, turns, params["messageId"]).follow(question.chat, result)
    return f"{text}\n\n{_chat_text(chat)}"


def _rewind(backend: Backend, turns: Turns, count: int, *, git: bool) -> str | Question:
    messages = backend.request("session/messages", {"sessionId": turns.name})["messages"]
    if not messages:
        raise NothingToUndo("no prompt of this session is recorded", hint=_LISTS)
    chosen = messages[-count:][0]["messageId"]
    return _planned(backend, turns, "session/revert", {"messageId": chosen, "git": git})


def _chat(backend: Backend, turns: Turns, message_id: str) -> ChatRewind:
    return ChatRewind(backend.request, {"sessionId": turns.name, "messageId": message_id})


def _chat_text(chat: Chat) -> str:
    """Says how the conversation goes on in a new session, and how to open that."""
    line = f"Conversation: {plain(_about(chat), _LONGEST)}."
    if "sessionId" not in chat:
        return line
    return f"{line}\n\nOpen the session {code(chat['sessionId'])} in your editor, or type {code(chat['line'])}."


def _about(chat: Chat) -> str:
    return chat["problem"] if "problem" in chat else chat["summary"]


def _with_steps(result: Any) -> StepsOutcome:
    """The result of an undo, a redo or a revert; a revert does not list steps."""
    return cast("StepsOutcome", {"steps": [], **result})


def _request(backend: Backend, method: Any, params: Any) -> Any:
    return backend.request(method, params)


def _planned(
    backend: Backend, turns: Turns, method: Method, which: SessionUndoParams | SessionRedoParams
) -> str | Question:
    params: Any = {"sessionId": turns.name, **which, "details": "counts"}
    dry_run: Any = {**params, "dryRun": True}
    question = _question(backend, turns, method, params, _request(backend, method, dry_run))
    plan = question.plan
    is_change = any(row["outcome"] != "unchanged" for row in plan["files"]) or question.with_git is not None
    is_change = is_change or moves_git(plan.get("git"))
    return question if is_change else carry_out(backend, turns, question)


def _question(
    backend: Backend,
    turns: Turns,
    method: Method,
    params: SessionUndoParams,
    result: Any,
    *,
    was_other: bool = False,
) -> Question:
    plan, chat = _with_steps(result), None
    if method == "session/revert":
        message = str(params["messageId"])
        chat = _chat(backend, turns, message).look()
        prompt = _prompt(backend, turns, message)
        names = ["a prompt" if prompt is None else f"the prompt “{prompt}”"]
    elif "stepId" in params:
        names = [_step_name(backend, params["stepId"])]
    else:
        chosen = _by_turn(plan)
        names = [_turn_name(backend, turns, steps[0]) for steps in chosen[:_LISTED]]
        names += [f"{len(chosen) - _LISTED} more"] if len(chosen) > _LISTED else []
    name = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    question = Question(method, params, name, with_short_ids(backend, plan), was_other, chat=chat)
    if not plan.get("git", {}).get("left"):
        return question
    git_params: SessionUndoParams = {**params, "git": True}
    dry_run: Any = {**git_params, "dryRun": True}
    git_plan = _with_steps(_request(backend, method, dry_run))
    with_git = Question(method, git_params, name, with_short_ids(backend, git_plan), chat=chat)
    return attrs.evolve(question, with_git=with_git)


def _by_turn(plan: StepsOutcome) -> list[list[Step]]:
    turns = groupby(plan["steps"], lambda step: step.get("messageId") or step["stepId"])
    return [list(steps) for _, steps in turns]


def _of_turns(backend: Backend, turns: Turns, method: Method, count: int, *, git: bool) -> str | Question:
    looked_at = 1 if (method, count) == ("session/undo", 1) else _MOST_STEPS
    params: SessionUndoParams = {"sessionId": turns.name, "count": looked_at, "git": git, "dryRun": True}
    try:
        plan = _request(backend, method, params)
    except NothingToUndo as error:
        text = "nothing that the agent changed in this session is left to undo"
        raise NothingToUndo(text, hint=_LISTS) from error
    last = plan["steps"][0]
    if looked_at > 1:
        return _planned(backend, turns, method, {"count": sum(map(len, _by_turn(plan)[:count])), "git": git})
    if "messageId" in last:
        return _planned(backend, turns, method, {"messageId": last["messageId"], "git": git})
    return _planned(backend, turns, method, {"stepId": last["stepId"], "git": git})


def _steps(backend: Backend, turns: Turns, command: Command) -> str:
    most = _count(command) or _LISTED
    lines: list[str] = []
    shown = 0
    for message, group in groupby(_latest(backend, turns), lambda step: step.get("messageId") or step["stepId"]):
        steps = [step for step in group if step.get("files") or "git" in step or step["state"] == "open"]
        if not steps:
            continue
        if shown == most:
            lines.append(f"\n`/steps {most * 2}` lists earlier ones.")
            break
        shown += 1
        lines += turn_lines(with_short_ids(backend, steps[::-1]), _prompt(backend, turns, message))
    return "\n".join(lines) or NOTHING_RECORDED


def _latest(backend: Backend, turns: Turns) -> Iterator[Step]:
    first = backend.request("step/find", {"sessionId": turns.name, "limit": _LOOKED_AT})["steps"]
    yield from first
    if len(first) == _LOOKED_AT:
        yield from backend.request("step/find", {"sessionId": turns.name})["steps"][_LOOKED_AT:]


def _step(backend: Backend, turns: Turns, text: str) -> Step:
    """The step whose id begins with `text`. Raises `UnknownStep` or `InvalidParams`."""
    steps: list[Step] = []
    if _STEP.fullmatch(text):
        steps = backend.request("step/find", {"prefix": text, "sessionId": turns.name, "limit": 2})["steps"]
    if not steps:
        raise UnknownStep(f"there is no step {text!r} in this session", hint=_LISTS, stepId=text)
    if len(steps) > 1:
        raise InvalidParams(f"several steps begin with {text!r}", hint="give more digits of the id", field="stepId")
    return steps[0]


def _count(command: Command) -> int | None:
    return int(command.rest) if command.rest is not None and _COUNT.fullmatch(command.rest) else None


def _step_name(backend: Backend, step_id: str | None) -> str:
    return f"step `{with_short_ids(backend, {'stepId': step_id})['stepId']}`"


def _turn_name(backend: Backend, turns: Turns, step: Step) -> str:
    message = step.get("messageId")
    if message is None:
        return _step_name(backend, step["stepId"])
    prompt = _prompt(backend, turns, message)
    return "a prompt" if prompt is None else f"the prompt “{prompt}”"


def _prompt(backend: Backend, turns: Turns, message: str) -> str | None:
    """The beginning of a prompt, which may be from an earlier connection; None if its text is not kept."""
    if turns.prompt_of(message) is None:
        for row in backend.request("session/messages", {"sessionId": turns.name})["messages"]:
            turns.remember(row["messageId"], row.get("text", ""))
    return turns.prompt_of(message)
