"""What happens in a history: each operation follows from the seed, and from what both daemons answered until then."""

from __future__ import annotations

import ast
import datetime
import json
from collections.abc import Iterator
from random import Random
from typing import Any

import attrs

from .side import EPOCH, WHO

_AGENTS = WHO[1:]
_TICKS = (0.0, 0.0, 0.007, 0.4, 1.0, 1.0, 61.0, 3600.0)
_DAY = 86400.0
_WEIGHTS = {"edit": 34, "hang up": 1, "reopen": 1, "kill": 1, "begun": 30, "operations": 36, "others": 11}
_WEIGHTS |= {"upkeep": 3, "looks": 34, "wrong": 2}

Request = tuple[str, dict[str, Any]]


@attrs.frozen
class Operation:
    """Something that is done on both sides.

    Attributes:
        kind: `request`, or the name of a method of `Side`.
        seed: of the dice that it throws.
        later: seconds that go by before it.
    """

    kind: str
    who: str
    method: str = ""
    params: dict[str, Any] = attrs.field(factory=dict)
    seed: int = 0
    later: float = 0.0

    def __str__(self) -> str:
        """It, in a line."""
        return f"+{self.later} s {self.who}: {self.kind} {self.method} {json.dumps(self.params)} {self.seed}"


@attrs.define
class History:
    """Chooses operations, and remembers what was answered.

    Attributes:
        kills: whether the daemon is killed, too.
        reviews: whether clients ask what is pending; else, they ask which snapshots were taken.
        files: names of files, the ones that were seen last at the end.
    """

    dice: Random
    kills: bool = True
    reviews: bool = False
    files: list[str] = attrs.field(factory=lambda: ["src/base0.txt", "user/n1"])
    _sessions: list[str] = attrs.field(factory=lambda: [*_AGENTS])
    _steps: list[tuple[str, str]] = attrs.field(factory=list)
    _open: list[tuple[str, str]] = attrs.field(factory=list)
    _messages: list[tuple[str, str]] = attrs.field(factory=list)
    _trees: list[str] = attrs.field(factory=list)
    _changed: dict[str, list[str]] = attrs.field(factory=dict)
    _reviewed: dict[str, str] = attrs.field(factory=dict)
    _planned: list[Operation] = attrs.field(factory=list)
    _following: list[Operation] = attrs.field(factory=list)

    def operations(self, count: int) -> Iterator[Operation]:
        """So many of them, and some at the beginning; after each, `learn` or `see` is to be called."""
        yield from self._starts()
        yield Operation("request", "tool", "snapshot/track")
        for _ in range(count):
            later = _DAY if self.dice.random() < 0.01 else self.dice.choice(_TICKS)
            yield attrs.evolve(self._next(), seed=self.dice.getrandbits(32), later=later)

    def _starts(self) -> list[Operation]:
        return [Operation("request", who, "session/start", {"sessionId": who, "agent": who}) for who in _AGENTS]

    def _next(self) -> Operation:
        dice, who = self.dice, self.dice.choice(WHO)
        if self._following:
            return self._following.pop()
        if self._planned and dice.random() < 0.4:
            return self._planned.pop()
        kinds = [kind for kind in _WEIGHTS if kind != "kill" or self.kills]
        kind = dice.choices(kinds, [_WEIGHTS[kind] for kind in kinds])[0]
        if kind in ("edit", "hang up", "reopen", "kill"):
            return Operation(kind, who)
        requests: list[Request] = getattr(self, f"_{kind}")()
        method, params = dice.choice(requests)
        if kind == "operations":
            params |= self._at_times(0.3, dryRun=True) | self._at_times(0.4, details=dice.choice(["counts", "diff"]))
            if method != "session/unrevert":
                params |= self._at_times(0.6, onConflict=dice.choice(["merge", "fail", "overwrite", "keep"]))
        return Operation("request", who, method, params)

    # -- what there is to choose from

    def _at_times(self, chance: float, **params: Any) -> dict[str, Any]:
        return params if self.dice.random() < chance else {}

    def _file(self) -> str:
        return self.dice.choice(self.files[-12:] if self.dice.random() < 0.7 else self.files)

    def _some(self, most: int = 4) -> list[str]:
        return [self._file() for _ in range(self.dice.randint(0, most))]

    def _tree(self) -> str:
        return self.dice.choice(self._trees[-8:] if self.dice.random() < 0.7 else self._trees)

    def _step(self) -> tuple[str, str]:
        """A step and its session; the newest ones more often."""
        known = self._steps[-6:] if self.dice.random() < 0.7 else self._steps
        return self.dice.choice(known or [("none", self.dice.choice(self._sessions))])

    def _message(self) -> tuple[str, str]:
        return self.dice.choice(self._messages[-8:] or [(self.dice.choice(self._sessions), "none")])

    def _file_of(self, step: str) -> str:
        """A file that a step changed, if it changed any."""
        return self.dice.choice(self._changed.get(step) or [self._file()])

    # -- requests of each kind

    def _begun(self) -> list[Request]:
        dice, session = self.dice, self.dice.choice(self._sessions)
        began = datetime.datetime.fromtimestamp(EPOCH, datetime.UTC).isoformat()
        begin = (
            {"sessionId": session}
            | self._at_times(0.4, tool="Edit", description=f"step {len(self._steps)}")
            | self._at_times(0.3, messageId=f"m{dice.randrange(4)}")
            | self._at_times(0.3, partId=f"p{dice.randrange(6)}")
            | self._at_times(0.2, detached=True)
            | self._at_times(0.1, began=began)
        )
        if self._open:
            begin |= self._at_times(0.2, parentStepId=dice.choice(self._open)[0])
        mine = [step for step, other in self._open if other == session]
        if mine:
            begin |= self._at_times(0.3, ends=dice.choice(mine))
        end = {"stepId": dice.choice(self._open or [self._step()])[0]}
        end |= self._at_times(0.4, files=self._some()) | self._at_times(0.1, description="done")
        end |= self._at_times(0.1, left=True)
        message = {"sessionId": session, "messageId": f"m{dice.randrange(8)}", "text": f"do {len(self._messages)}"}
        start: dict[str, Any] = dice.choice([{"agent": "dan"}, {}, {"sessionId": session, "title": "again"}])
        requests: list[Request] = (
            [("step/begin", begin)] * 5 + [("step/end", end)] * 5 + [("session/message", message)] * 2
        )
        return [
            *requests,
            ("session/start", start),
            *([("session/end", {"sessionId": session})] * (dice.random() < 0.5)),
        ]

    def _operations(self) -> list[Request]:
        dice, (step, session), (talk, message) = self.dice, self._step(), self._message()
        file, one = self._file_of(step), dice.choice([*self._reviewed] or [self._file()])
        undo: list[dict[str, Any]] = [{}, {"count": dice.randint(1, 3)}, {"sessionId": session}, {"stepId": step}]
        undo += [{"sessionId": session, "count": 2}, {"stepId": step}, {"sessionId": session, "afterStepId": step}]
        undo += [{"sessionId": talk, "messageId": message}]
        redo: list[dict[str, Any]] = [{}, {"count": 2}, {"sessionId": session}]
        patches = [{"hash": self._tree(), "files": self._some()} for _ in range(dice.randint(1, 2))]
        return [
            *[("session/undo", dice.choice(undo))] * 5,
            *[("session/redo", dice.choice(redo))] * 2,
            *[("snapshot/restore", {"hash": self._tree()})] * 2,
            *[("snapshot/revert", {"patches": patches})] * 2,
            ("session/revert", {"sessionId": talk, "messageId": message}),
            ("session/unrevert", {"sessionId": talk}),
            ("step/revertHunks", {"stepId": step, "file": file, "hunks": dice.choice([[0], [1], [0, 1]])}),
            ("step/revertFiles", {"stepId": step, "files": [file]}),
            ("review/revert", self._chosen(one, step, session)),
        ]

    def _chosen(self, file: str, step: str, session: str) -> dict[str, Any]:
        """What of all that is pending."""
        sets: list[dict[str, Any]] = [{"stepId": step}, {"sessionId": session}, {"all": True}]
        return self.dice.choice([{"files": [file]}, {"file": file, "hunks": [0]}, *sets])

    def _others(self) -> list[Request]:
        one = self.dice.choice([*self._reviewed] or [self._file()])
        keep = self._chosen(one, *self._step())
        keep |= self._at_times(0.3, expect=dict(self._reviewed)) if self._reviewed else {}
        return [
            ("review/keep", keep),
            ("snapshot/track", {}),
            ("snapshot/track", self._at_times(0.2, force=["ignored"])),
        ]

    def _upkeep(self) -> list[Request]:
        dice = self.dice
        cleanup: dict[str, Any] = dice.choice([{}, *({"olderThanDays": days} for days in (0, 0.01, 1))])
        files: dict[str, Any] = {"files": [self._file()]}
        purge = dice.choice([files] * 6 + [{"messages": [self._message()[1]]}, {"everything": True}])
        check: dict[str, Any] = dice.choice([{}, {"quick": True}, {"repair": True}])
        dry = self._at_times(0.3, dryRun=True)
        return [("snapshot/cleanup", cleanup | dry), ("snapshot/purge", purge | dry), ("snapshot/check", check)]

    def _wrong(self) -> list[Request]:
        return [
            ("snapshot/restore", {"hash": "0" * 40}),
            ("snapshot/restore", {"hash": "abc"}),
            ("session/undo", {"stepId": "nowhere"}),
            ("session/undo", {"dryrun": True}),
            ("step/begin", {"sessionId": "nobody"}),
            ("snapshot/revert", {"patches": [{"hash": self._tree(), "files": ["../there"]}]}),
            ("snapshot/fileAt", {"hash": self._tree(), "file": "not/there"}),
            ("snapshot/nothing", {}),
        ]

    def _looks(self) -> list[Request]:
        dice, (step, session), tree, file = self.dice, self._step(), self._tree(), self._file()
        to, only = self._at_times(0.5, to=self._tree()), self._at_times(0.2, files=self._some())
        flags, page = self._at_times(0.4, renames=True), self._at_times(0.4, limit=dice.randint(1, 6))
        about, at, of_step = {"sessionId": session}, {"hash": tree}, {"stepId": step}
        blamed = {"file": file} | self._at_times(0.3, hash=tree)
        reviewing: list[Request] = [("review/list", page), ("review/list", about), ("review/file", {"file": file})]
        listing: list[Request] = [("snapshot/list", page), ("snapshot/list", {"prefix": tree[:6]})]
        return [
            *(reviewing if self.reviews else listing),
            ("snapshot/patch", at | to),
            ("snapshot/diff", at | to | only | flags),
            ("snapshot/diffFull", {"from": tree} | to | only | flags | page),
            ("snapshot/fileAt", at | {"file": file}),
            ("snapshot/listFiles", at | page),
            ("snapshot/fileExists", at | {"file": file}),
            ("snapshot/status", {"file": file}),
            *[("snapshot/blame", blamed)] * 2,
            ("session/list", page),
            ("session/steps", about | page),
            ("session/messages", dice.choice([about | page, {}])),
            ("session/news", about),
            ("session/diff", about | self._at_times(0.3, stepId=step) | page),
            *[("session/history", flags | only | page), ("session/history", about)],
            ("session/prefixes", {"ids": [dice.choice(_AGENTS), tree]}),
            ("step/find", dice.choice([{"prefix": step}, {"open": True}, {"limit": 5} | flags])),
            ("step/diff", of_step | only),
            ("step/changes", dice.choice([{"sessionIds": [session]}, {"stepIds": [step]}])),
            ("step/hunks", of_step | {"file": self._file_of(step)}),
        ]

    # -- what was answered

    def learn(self, done: Operation, answer: dict[str, Any]) -> None:
        """Remembers what a request came to, for those to come."""
        result = answer.get("result")
        if not isinstance(result, dict):
            return
        for name in ("hash", "after", "before"):
            if isinstance(result.get(name), str) and result[name] not in self._trees:
                self._trees.append(result[name])
        params = done.params
        if done.method == "session/start" and result["sessionId"] not in self._sessions:
            self._sessions.append(result["sessionId"])
        elif done.method == "step/begin":
            step = (result["stepId"], params["sessionId"])
            self._steps.append(step)
            self._open.append(step)
        elif done.method == "step/end":
            self._open = [step for step in self._open if step[0] != result["stepId"]]
            self._changed[result["stepId"]] = [each["file"] for each in result["files"]]
        elif done.method == "review/list":
            self._reviewed = {each["file"]: each["id"] for each in result["files"]}
        elif done.method == "snapshot/purge" and result["applied"]:
            self._trees = self._trees[-1:]
            if params.get("everything"):
                self._sessions, self._following = [*_AGENTS], self._starts()
                self._steps, self._open, self._messages, self._planned = [], [], [], []
        if done.method in ("session/message", "step/begin") and "messageId" in params:
            self._messages.append((params["sessionId"], params["messageId"]))
        if "plan" in result and params.get("dryRun"):
            confirmed = {name: value for name, value in params.items() if name != "dryRun"}
            self._planned.append(attrs.evolve(done, params=confirmed | {"expect": result["plan"]}))
        if "nextCursor" in result and self.dice.random() < 0.6:
            self._following.append(attrs.evolve(done, params=params | {"cursor": result["nextCursor"]}))

    def see(self, files: str) -> None:
        """Takes the names of files in a folder, as `Side.files` lists them."""
        found = [ast.literal_eval(row.split(" ", 2)[2].rpartition(" ")[0]) for row in files.splitlines()]
        new = [name for name in found if name not in self.files and name.isprintable()]
        self.files = [name for name in self.files if name in found or self.dice.random() < 0.5] + new
