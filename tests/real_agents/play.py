"""Plays a scenario with a real agent, and holds files and timeline to what the oracle says after each act."""

from __future__ import annotations

import difflib
import html
import re
from pathlib import Path

from .agents.agent import Agent, Start
from .editor import Editor
from .expected import Other, Step, Turn
from .model import script
from .model.request import Json, strings
from .model.server import Model
from .oracle import Oracle, git_state
from .place import SNAPD, Failed, Place
from .scenarios.actions import GO, Action, Awaits, Delegate, Edit, Read, Reply, Shell, Together, Write
from .scenarios.scenario import (
    Act,
    AnotherAgent,
    Comments,
    Prepares,
    Prompt,
    Restarts,
    Resumes,
    Rewinds,
    Saves,
    Undoes,
    UndoesPrompt,
    Way,
)
from .timeline import timeline

_TOLD = re.compile("(?<!:)snapd: (?!snapd keeps).*")
"""How everything begins that an agent is told.

Not the skill of the plugin, which Claude Code calls snapd:snapd, and not what Codex says of the MCP server.
"""
_BEFORE: dict[Way, list[str]] = {"hooks": [], "run": [SNAPD, "run", "--"], "acp": [SNAPD, "acp", "--"]}
_KINDS: dict[type[Action], str] = {Write: "edit", Edit: "edit", Shell: "execute"}
"""What the Agent Client Protocol calls tools."""


class Play:
    """One scenario with one agent.

    Args:
        agent: that plays; it is in the place.
        model: that it asks; nobody else does.
        place: where it works.
        way: how snapd learns of what it does.
    """

    def __init__(self, agent: Agent, model: Model, place: Place, way: Way) -> None:
        self._agent = agent
        self._model = model
        self._place = place
        self._way = way
        self._oracle = Oracle(place.project, place.above / "oracle", place.temporary)
        self._happened: list[Turn | Step | Other] = []
        self._undone: list[tuple[list[Step], str]] = []
        self._git = ""
        # the session to go on with, None for the last one; and the prompts in the conversation of each
        self._session: str | None = None
        self._conversations_of: dict[str | None, list[Prompt]] = {None: []}
        self._command: list[str] = []
        # whether the session to go on with is gone
        self._is_over = False

    def act(self, act: Act) -> None:
        """Has something happen, and checks what it led to.

        Raises:
            Failed: it is not what it has to be.
        """
        if self._is_over:
            return
        if isinstance(act, Prompt):
            self._prompt(act)
        elif isinstance(act, Saves):
            for name, text in act.files.items():
                self._place.write(name, text)
            self._others("you", self._oracle.save(act.files))
        elif isinstance(act, Comments):
            self._comment(act)
        elif isinstance(act, Restarts):
            self._place.snapd("stop")
        elif isinstance(act, AnotherAgent):
            self._write_as_another(act)
        elif isinstance(act, Prepares):
            self._place.run(["sh", "-ec", act.script])
            return
        elif isinstance(act, Undoes):
            step = next(step for turn in self._turns() for step in turn.all() if step.action is act.action)
            self._place.snapd("undo", step.found or "", "--yes", *(["--git"] if step.git else []))
            self._take_back(step.all())
            if step.git and (now := git_state(self._place.project)) != self._git:
                raise Failed(f"git is not what it was:\n{self._git}\nbut\n{now}")
        elif isinstance(act, UndoesPrompt):
            turn = next(turn for turn in self._turns() if turn.prompt is act.prompt)
            self._place.snapd("undo", "--message", turn.found or "", "--yes")
            self._take_back([step for step in turn.all() if not step.undone])
        elif isinstance(act, Rewinds):
            self._rewind(act.prompt)
        elif isinstance(act, Resumes):
            self._session = self._session_of(act.prompt)
            self._is_over = self._agent.has_removed(self._place.home, self._session or "")
            return
        else:
            self._place.snapd("redo", "--yes")
            self._do_again()
        self._check()

    def _comment(self, act: Comments) -> None:
        with self._place.client() as client:
            made = client.review_comment(file=act.file, start=act.line, text=act.text)
        if "sessionId" not in made:
            raise Failed(f"the comment is for nobody: {made}")

    def _write_as_another(self, act: AnotherAgent) -> None:
        with self._place.client() as client:
            client.session_start(session_id="another", agent="another")
            begun = client.step_begin("another", tool="write")
            self._place.write(act.file, act.text)
            client.step_end(begun["stepId"])
        before = self._oracle.head()
        commit = self._oracle.save({act.file: act.text})
        self._happened.append(Step("another write", None, commit, self._oracle.changes(before, commit)))

    def _turns(self) -> list[Turn]:
        return [each for each in self._happened if isinstance(each, Turn)]

    # -- what happens

    def _prompt(self, prompt: Prompt) -> None:
        agent, place, model = self._agent, self._place, self._model
        self._git = git_state(place.project)
        model.script = (*model.script, *self._conversations(prompt.text, prompt.turns))
        known = len(model.asked)
        start = Start(prompt.text, bool(self._turns()), prompt.denied, self._way, self._session)
        variables = {**agent.environment(place.home, model.url), **(agent.denying() if prompt.denied else {})}
        command = [*_BEFORE[self._way], agent.name, *agent.arguments(start)]
        if self._command and not _has(command, self._command[1:]):
            raise Failed(f"{self._command} is not how it goes on: {command}")
        self._command = []
        with place.started(command, variables, speaks=self._way == "acp") as process:
            if self._way == "acp":
                Editor(process).prompt(str(place.project), prompt.text)
        asked = model.asked[known:]
        unknown = [each.path for each in asked if each.said is None]
        if unknown:
            raise Failed(f"it asked for {', '.join(unknown)}")
        bodies = [each.body for each in asked if each.said and each.said.opening == prompt.text]
        turns = [each.said.number for each in asked if each.said and each.said.opening == prompt.text]
        stopped = prompt.denied and agent.stops
        if turns != [*range(1 if stopped else len(prompt.turns) + 1)]:
            raise Failed(f"it asked for the turns {turns}")
        self._check_told(prompt, bodies)
        self._check_replies(prompt)
        self._check_conversation(bodies)
        self._conversations_of[self._session].append(prompt)
        turn = Turn(prompt, self._agent.parts_apart)
        self._happened.append(turn)
        before = self._oracle.head()
        for actions in prompt.turns[:1] if stopped else prompt.turns:
            turn.steps += self._steps(actions, prompt.denied)
        if self._way == "acp":
            after = self._oracle.head()
            whole = Step(f"{agent.name} prompt", None, after, self._oracle.changes(before, after), turn.steps)
            turn.steps = [whole]
        if any(step.git for step in turn.all()) and git_state(place.project) == self._git:
            raise Failed("git is as it was before the prompt")

    def _rewind(self, prompt: Prompt) -> None:
        turns = self._turns()
        at = next(at for at, turn in enumerate(turns) if turn.prompt is prompt)
        old = self._session_of(prompt)
        chat = self._place.answer("rewind", turns[at].found or "", "--yes")["chat"]
        if "problem" in chat or len(chat["drops"]) != len(turns) - at:
            raise Failed(f"the conversation does not go back: {chat}")
        kept = self._conversations_of.pop(self._session)
        self._conversations_of |= {old: kept, chat["sessionId"]: kept[: kept.index(prompt)]}
        self._session, self._command = chat["sessionId"], chat["command"]
        steps = [step for turn in turns[at:] for step in turn.all() if not step.undone]
        self._take_back(steps, "revert")

    def _session_of(self, prompt: Prompt) -> str:
        found = next(turn.found for turn in self._turns() if turn.prompt is prompt)
        with self._place.client() as client:
            messages = client.request("session/messages", {"prefix": found or ""})["messages"]
        return str(messages[0]["sessionId"])

    def _conversations(self, opening: str, turns: tuple[Together, ...]) -> list[script.Conversation]:
        project = self._place.project
        said = []
        for number, actions in enumerate(turns):
            calls = [self._call(each, project) for each in actions if not isinstance(each, Awaits)]
            after = [project / each.file for each in actions if isinstance(each, Awaits)]
            lets = [self._place.temporary / GO] if after else []
            said.append(script.Turn(f"This is turn {number}.", tuple(calls), tuple(lets), tuple(after)))
        found = [script.Conversation(opening, tuple(said))]
        for actions in turns:
            for each in actions:
                if isinstance(each, Delegate):
                    found += self._conversations(each.task, each.turns)
        return found

    def _call(self, action: Action, project: Path) -> script.Call:
        if not isinstance(action, Reply):
            return self._agent.call(action, project)
        with self._place.client() as client:
            comments = client.review_comments()["comments"]
        (comment_id,) = [each["commentId"] for each in comments if each["text"] == action.comment]
        return script.Call(self._agent.reply, {"comment": comment_id[:8], "text": action.text, "resolve": True})

    def _steps(self, actions: Together, denied: bool) -> list[Step]:
        """The steps of one answer, which the oracle carries out."""
        agent = self._agent
        found: list[Step] = []
        for action in actions:
            if isinstance(action, Awaits) or (denied and not agent.asks):
                continue
            before = self._oracle.head()
            is_of_git = isinstance(action, Shell) and action.git
            parts = []
            if isinstance(action, Delegate):
                parts = [step for below in action.turns for step in self._steps(below, denied)]
            elif not isinstance(action, Read | Reply) and not denied and not is_of_git:
                self._oracle.carry_out(action)
            if type(action) not in agent.tools:
                continue
            tools = _KINDS if self._way == "acp" else agent.tools
            who = f"{agent.name} {tools[type(action)]}"
            if isinstance(action, Shell) and action.background:
                # the call, and then what goes on
                found.append(Step(who, action, before, []))
            after = self._oracle.head()
            found.append(Step(who, action, after, self._oracle.changes(before, after), parts, is_of_git))
        return found

    def _take_back(self, steps: list[Step], who: str = "undo") -> None:
        """Takes back steps that are not taken back yet, oldest first, each with its parts."""
        changed = [step for step in steps if step.changes or step.git]
        # what a step did that has parts is what these did
        commits = [step.commit for step in reversed(changed) if step.changes and not step.parts]
        commit = self._oracle.take_back(*commits)
        self._undone.append((changed, commit))
        for step in changed:
            step.undone = True
        self._others(who, commit)

    def _do_again(self) -> None:
        steps, commit = self._undone.pop()
        for step in steps:
            step.undone = False
        self._others("redo", self._oracle.take_back(commit))

    def _others(self, who: str, commit: str) -> None:
        self._happened.append(Other(who, self._oracle.changes(f"{commit}^", commit)))

    # -- what has to be

    def _check_told(self, prompt: Prompt, bodies: list[Json]) -> None:
        """The first request of a turn has what the agent is told, and so have the later ones, once."""
        project = self._place.project
        known = [str(path.relative_to(project)) for path in project.rglob("*") if path.is_file()]
        for body in bodies[0], bodies[-1]:
            said = [match[0] for text in strings(body) if (match := _TOLD.search(text))]
            named = {name for name in known if any(name in text for text in said)}
            of_git = any("Git was moved: " in text for text in said)
            is_told = bool(prompt.told or prompt.comment) or prompt.told_of_git
            if named != prompt.told or of_git != prompt.told_of_git or len(said) != is_told:
                raise Failed(f"it is told {said}, and not of {', '.join(prompt.told) or 'nothing'}")
            # Gemini CLI and Qwen Code escape what hooks say
            texts = [html.unescape(text) for text in strings(body)]
            comments = [text for text in texts if prompt.comment and f"\n> {prompt.comment}\n" in text]
            overlaps = [text for text in texts if "snapd: another agent changed files" in text]
            if (len(comments), len(overlaps)) != (bool(prompt.comment), prompt.overlaps):
                raise Failed(f"it is told of the comments {comments} and of the overlaps {overlaps}: {said}")

    def _check_replies(self, prompt: Prompt) -> None:
        replies = [action for actions in prompt.turns for action in actions if isinstance(action, Reply)]
        if not replies:
            return
        with self._place.client() as client:
            comments = client.review_comments(state="all")["comments"]
        for action in replies:
            (found,) = [each for each in comments if each["text"] == action.comment]
            said = [(each["author"], each["text"]) for each in found["replies"]]
            if (found["state"], said) != ("resolved", [("agent", action.text)]):
                raise Failed(f"the comment has not the reply {action.text!r}: {found}")

    def _check_conversation(self, bodies: list[Json]) -> None:
        """The model sees the prompts of the conversation, with what was done, and no others."""
        kept = self._conversations_of[self._session]
        for body in bodies:
            seen = "\n".join(strings(body))
            for prompt in (turn.prompt for turn in self._turns()):
                # Gemini CLI names the files of the folder, whoever made them
                for text in [prompt.text, *(_new_files(prompt) if prompt in kept else ())]:
                    if (text in seen) != (prompt in kept):
                        raise Failed(f"the model {'does not see' if prompt in kept else 'sees'} {text!r}")

    def _check(self) -> None:
        passed_over = self._place.passed_over()
        if passed_over:
            raise Failed(f"hooks passed over events:\n{passed_over}")
        wrong = self._oracle.differences(self._place.project)
        if wrong:
            raise Failed("the files are not what git says:\n" + "\n".join(wrong))
        expected: list[tuple[str, Turn | Step | None]] = []
        happened = self._happened
        # what the user does is told when something else follows
        while isinstance(happened[-1], Other) and happened[-1].who == "you":
            happened = happened[:-1]
        for each in happened:
            if isinstance(each, Turn):
                expected += [(each.line(), each), *(line for step in each.steps for line in step.lines())]
            elif isinstance(each, Step):
                expected += each.lines()
            else:
                expected.append((each.line(), None))
        with self._place.client() as client:
            found = timeline(client)
        texts = [text for text, _ in expected]
        if [line.text for line in found] != texts:
            told = [line.text for line in found]
            compared = difflib.unified_diff(texts, told, "expected", "snapd says", lineterm="", n=len(texts))
            raise Failed("the timeline is not what it has to be:\n" + "\n".join(compared))
        for line, (_, what) in zip(found, expected, strict=True):
            if what is not None:
                what.found = line.id


def _has(words: list[str], part: list[str]) -> bool:
    return any(words[at : at + len(part)] == part for at in range(len(words)))


def _new_files(prompt: Prompt) -> list[str]:
    return [action.file for turn in prompt.turns for action in turn if isinstance(action, Write)]
