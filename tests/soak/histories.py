"""Whole histories: agents and a user take turns in one folder, and anything is taken back, in any order.

Everything happens one after the other, so that the model (`lines.py`) knows what each operation has to come to, line by
line. Before each operation there is a dry run of it. The daemon is killed now and then, also in the middle of one.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import attrs

from .client import Client, Gone, Refused, Tape
from .daemon import Daemon
from .lines import Folder, Foretold, Text, Work, come, differences, gone, read, shown, taken_back
from .operations import DONE
from .problems import holds

SESSIONS = ("ada", "ben", "cyd")
_ACTIONS = 100
_LINES = 24
_FILES = 8
_KILL_DELAY = 0.05


@attrs.define(eq=False)
class Step:
    """A step, as the model knows it.

    Attributes:
        work: what was written in it, if somebody ends it by name.
        sure: what was written in it for certain, whoever ends it.
        touched: the files that it wrote.
        foreign: the files that others wrote while it was open: if it named one of them, both would be the author.
        is_detached: whether it goes on when its client is gone.
        company: the steps that were open at the same time: each has to say what it wrote, and until all of them have
            left nothing open, one may count what another wrote for its own.
        is_abandoned: whether nobody will end it by name.
        is_left: whether its client is gone.
        is_doubtful: whether `sure` may lack something: an operation that came to nothing may be an event or not.
        undoing: what taking it back did, as long as it is taken back.
        is_partly: whether a conflict left some of its files: the next undo takes back these alone, and leaves the
            others as they are by then, also where a restore brought the step's work back.
    """

    name: str
    session: str
    message: str
    is_detached: bool
    state: str = "open"
    work: Work = attrs.field(factory=Work)
    sure: Work = attrs.field(factory=Work)
    touched: set[str] = attrs.field(factory=set)
    foreign: set[str] = attrs.field(factory=set)
    company: list[Step] = attrs.field(factory=list)
    is_abandoned: bool = False
    is_left: bool = False
    is_doubtful: bool = False
    undoing: Work | None = None
    is_partly: bool = False

    @property
    def own(self) -> Work:
        """What an undo takes back."""
        return self.sure if self.state == "open" and not self.is_detached else self.work

    def end_unspoken(self) -> None:
        """It ends without anybody's having named it, where it is open."""
        if self.state == "open":
            self.work = self.own
            self.state = "applied"


@attrs.define(eq=False)
class _Asked:
    """An operation that is about to be asked for.

    Attributes:
        steps: the one that it names; none where snapd is to find it, and None for a restore.
        target: what the folder becomes, of a restore.
    """

    method: str
    params: dict[str, Any]
    steps: list[Step] | None = None
    target: Folder | None = None


@attrs.define(eq=False)
class History:
    """One folder from its first file to its last undo.

    Args:
        kills: how likely it is that the daemon is killed in the middle of an operation.
    """

    _root: Path
    _daemon: Daemon
    _tape: Tape
    _dice: Random
    _kills: float
    _written: int = 0
    _steps: list[Step] = attrs.field(factory=list)
    _snapshots: dict[str, Folder] = attrs.field(factory=dict)
    _agents: dict[str, Client] = attrs.field(factory=dict)
    _tool: Client = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._root.mkdir()
        for number in range(_FILES // 2):
            self._put(f"file{number}", self._text("before"), in_place=False)

    async def run(self, actions: int = _ACTIONS) -> None:
        """Goes through it; raises `Broken` where the daemon does something else than the model."""
        await self._connect()
        for session in SESSIONS:
            await self._agents[session].ask("session/start", {"sessionId": session, "agent": session})
        for _ in range(actions):
            self._tape.diary.check()
            await self._act()
        for client in (self._tool, *self._agents.values()):
            client.close()
        self._tape.figures.histories += 1

    async def _connect(self) -> None:
        for name in ("tool", *SESSIONS):
            client = Client(f"{self._root.name}-{name}", self._tape)
            await client.open(self._daemon.socket, [str(self._root)])
            if name == "tool":
                self._tool = client
            else:
                self._agents[name] = client

    async def _act(self) -> None:
        dice = self._dice
        session = dice.choice(SESSIONS)
        mine = next((step for step in self._at_work() if step.session == session), None)
        weights = {"undo": 3, "undo one": 6, "redo": 3, "there and back": 2, "revert": 1, "restore": 1, "track": 1}
        weights["kill"] = 3 * self._kills
        if mine is None:
            weights["begin"] = 2 if self._at_work() else 8
        else:
            weights |= {"write": 8, "end": 6, "hang up": 0 if mine.is_left or mine.is_detached else 1}
        if not self._at_work():
            weights["user"] = 5
        action = dice.choices(list(weights), list(weights.values()))[0]
        self._tape.diary.note(f"{self._root.name}: {action} ({session})")
        if action == "begin":
            await self._begin(session)
        elif action == "user":
            for _ in range(dice.randint(1, 3)):
                self._write("user", frozenset())
        elif action == "track":
            await self._track()
        elif action == "kill":
            await self._kill()
        elif mine is not None and action == "write":
            self._work(mine)
        elif mine is not None and action == "end":
            await self._end(mine)
        elif mine is not None and action == "hang up":
            await self._hang_up(mine)
        else:
            await self._operate(action, session)

    # -- writing

    def _at_work(self) -> list[Step]:
        """The open steps that somebody may still end by name."""
        return [step for step in self._steps if step.state == "open" and not step.is_abandoned]

    def _text(self, author: str, count: int = _LINES) -> Text:
        return tuple(self._line(author) for _ in range(count))

    def _line(self, author: str) -> bytes:
        self._written += 1
        return b"%s wrote line %d: %08x\n" % (author.encode(), self._written, self._dice.getrandbits(32))

    def _put(self, name: str, text: Text, *, in_place: bool) -> None:
        path = self._root / name
        if in_place and path.exists():
            # seen under all names that the file has
            with path.open("r+b") as file:
                file.truncate()
                file.write(b"".join(text))
            return
        aside = self._root.with_name(f"{self._root.name}.aside")
        aside.write_bytes(b"".join(text))
        aside.rename(path)

    def _work(self, step: Step) -> None:
        before = read(self._root)
        self._write(f"{step.session}/{step.name}", frozenset(step.foreign))
        after = read(self._root)
        step.work.see(before, after)
        written = {*differences(before, after)}
        step.touched |= written
        for other in self._at_work():
            if other is not step:
                other.foreign |= written

    def _write(self, author: str, avoid: frozenset[str]) -> None:
        """Does something to a file that is not to be avoided, nor is any other name of it."""
        dice, root = self._dice, self._root
        now = read(root)
        numbers = {name: (root / name).stat().st_ino for name in now}
        shunned = {numbers[name] for name in avoid if name in numbers}
        free = sorted(name for name in now if numbers[name] not in shunned)
        new = f"file{dice.randint(0, 2 * _FILES)}"
        is_new = new not in now and new not in avoid
        kinds = ["edit"] * 10 if free else []
        kinds += ["make"] if is_new and len(now) < _FILES else []
        kinds += ["move", "link", "link and write"] if is_new and free else []
        kinds += ["delete"] if len(free) > 2 else []
        if not kinds:
            return
        kind = dice.choice(kinds)
        if kind == "make":
            self._put(new, self._text(author), in_place=False)
            return
        name = dice.choice(free)
        self._tape.diary.note(f"{root.name}: {author} {kind} {name} {new}")
        if kind == "edit":
            self._put(name, self._edited(now[name], author), in_place=dice.random() < 0.5)
        elif kind == "move":
            (root / name).rename(root / new)
        elif kind == "delete":
            (root / name).unlink()
        elif kind == "link":
            os.link(root / name, root / new)
        else:
            # for a moment the file has a second name, and what is written comes through that
            os.link(root / name, root / new)
            self._put(new, self._edited(now[name], author), in_place=True)
            (root / new).unlink()

    def _edited(self, text: Text, author: str) -> Text:
        lines = list(text)
        at = self._dice.randint(0, len(lines))
        lines[at : at + self._dice.randint(0, 2)] = self._text(author, self._dice.randint(0, 2))
        return tuple(lines)

    # -- steps

    def _event(self) -> None:
        """Something stands in the timeline: until here, those who are there are the authors for certain."""
        for step in self._at_work():
            if not step.is_left:
                step.sure = step.work.copy()
                step.is_doubtful = False

    def _may_be_event(self) -> None:
        for step in self._at_work():
            step.is_doubtful |= not step.is_left

    async def _begin(self, session: str) -> None:
        company = self._at_work()
        message = f"m{sum(step.session == session for step in self._steps) // 2}"
        params = {"sessionId": session, "messageId": message, "detached": self._dice.random() < 0.2}
        result = await self._agents[session].ask("step/begin", params)
        step = Step(result["stepId"], session, message, bool(params["detached"]), company=list(company))
        self._holds_tree(result["hash"])
        for other in company:
            other.company.append(step)
            step.foreign |= other.touched
        step.work.left = step.sure.left = read(self._root)
        self._event()
        self._steps.append(step)
        self._tape.figures.steps += 1

    async def _end(self, step: Step) -> None:
        params: dict[str, Any] = {"stepId": step.name}
        if step.company or self._dice.random() < 0.7:
            params["files"] = sorted(step.touched)
        result = await self._agents[step.session].ask("step/end", params)
        step.work.left = read(self._root)
        self._event()
        step.state = "applied"
        told = {change["file"] for change in result["files"]}
        expected = step.work.changed
        # a file that was changed there and back between two others' changes may stand in it or not
        holds(
            expected <= told <= step.touched | step.foreign,
            f"step {step.name} changed {expected}, and step/end tells {told}",
        )
        self._clear_redo(step)

    def _clear_redo(self, step: Step) -> None:
        if step.work.chains:
            for other in self._steps:
                if other.session == step.session:
                    other.undoing = None

    async def _hang_up(self, step: Step) -> None:
        await self._agents[step.session].hang_up()
        self._event()
        self._leave(step)
        client = Client(f"{self._root.name}-{step.session}", self._tape)
        self._agents[step.session] = await client.open(self._daemon.socket, [str(self._root)])
        self._tape.figures.dropped_connections += 1

    def _leave(self, step: Step) -> None:
        if step.is_detached:
            return
        step.is_left = True
        if not (step.company or step.is_doubtful) and self._dice.random() < 0.5:
            step.is_abandoned = True
            step.work = step.sure

    # -- snapshots

    def _holds_tree(self, tree: str) -> None:
        self._snapshots[tree] = read(self._root)

    async def _track(self) -> None:
        result = await self._tool.ask("snapshot/track", {})
        self._holds_tree(result["hash"])
        files = await self._tool.ask("snapshot/listFiles", {"hash": result["hash"]})
        now = self._snapshots[result["hash"]]
        holds(set(files["files"]) == set(now), f"{result['hash']} has {files['files']}, and the folder {sorted(now)}")
        for name in self._dice.sample(sorted(now), min(2, len(now))):
            told = await self._tool.ask("snapshot/fileAt", {"hash": result["hash"], "file": name})
            holds(told["content"].encode() == b"".join(now[name]), f"{result['hash']} has another {name}")
            self._tape.figures.files_checked += 1

    # -- operations

    async def _operate(self, action: str, session: str) -> None:
        asked = self._chosen(action, session)
        if asked is None:
            return
        conflict = self._dice.choice([None, None, None, "merge", "fail", "overwrite"])
        if conflict is not None and asked.steps is not None and asked.method != "session/unrevert":
            asked.params["onConflict"] = conflict
        if self._dice.random() < self._kills:
            await self._operate_and_kill(asked)
            return
        in_pieces = any(step.is_partly for step in self._steps if step.session == session)
        done = await self._do(asked)
        if action == "there and back" and done is not None and not in_pieces:
            await self._back(session, *done)

    def _chosen(self, action: str, session: str) -> _Asked | None:
        about = {"sessionId": session}
        mine = [step for step in self._steps if step.session == session]
        if action == "restore":
            tree = self._dice.choice(list(self._snapshots) or [""])
            return _Asked("snapshot/restore", {"hash": tree}, target=self._snapshots[tree]) if tree else None
        if action in ("undo", "there and back"):
            if not all(_is_settled(step) for step in mine):
                return None
            return _Asked("session/undo", about, [])
        if action == "redo":
            return _Asked("session/redo", about, [])
        if action == "undo one":
            known = [step for step in self._steps if step.state in ("open", "applied") and _is_settled(step)]
            known = [step for step in known if not (step.state == "open" and step.is_detached)]
            if not known:
                return None
            step = self._dice.choice(known)
            return _Asked("session/undo", {"sessionId": step.session, "stepId": step.name}, [step])
        if not mine or any(step.state == "open" for step in mine):
            return None
        return _Asked("session/revert", {**about, "messageId": self._dice.choice(mine).message}, [])

    async def _do(self, asked: _Asked) -> tuple[Folder, Folder] | None:
        """Asks for it, as a dry run and then for real, and checks all that can be known of it.

        Returns:
            The folder before and after; None where it was refused.
        """
        before = read(self._root)
        dry = await self._ask(asked, is_dry=True)
        holds(read(self._root) == before, f"the dry run of {asked.method} {asked.params} wrote")
        real = await self._ask(asked, is_dry=False)
        after = read(self._root)
        where = f"{asked.method} {asked.params}"
        if real is None or dry is None:
            holds(real == dry, f"{where}: the dry run was refused, or it alone was not: {dry}, {real}")
            self._may_refuse(asked)
            return None
        holds(
            _told(dry) == _told(real),
            f"{where}: the dry run says {_told(dry)}, and for real it is {_told(real)}\n{shown(before, before)}",
        )
        self._tape.figures.dry_runs_compared += 1
        self._check(asked, real, before, after)
        if asked.method == "session/revert":
            # which steps that were is asked for, and what a redo of one of them does is not foretold
            self._tape.figures.undos += 1
            for step in self._steps:
                if step.session == asked.params["sessionId"] and step.state != "open":
                    step.state = "unknown"
            await self._learn(asked.params["sessionId"], before, after)
        return before, after

    async def _ask(self, asked: _Asked, *, is_dry: bool) -> dict[str, Any] | None:
        params = {**asked.params, "dryRun": True} if is_dry else asked.params
        try:
            result: dict[str, Any] = await self._tool.ask(asked.method, params)
        except Refused as error:
            holds(error.kind in ("nothingToUndo", "nothingToRedo"), f"{asked.method} {asked.params}: {error}")
            return None
        return result

    def _may_refuse(self, asked: _Asked) -> None:
        session = asked.params["sessionId"]
        if asked.method == "session/undo":
            left = [step for step in self._steps if step.session == session and step.state == "applied"]
            known = [(step.name, step.work.chains) for step in left if step.work.changed]
            holds(not known, f"nothing to undo in {session}, and there are {known}")

    def _check(self, asked: _Asked, result: dict[str, Any], before: Folder, after: Folder) -> None:
        where = f"{asked.method} {asked.params}"
        told = {one["file"]: one for one in result["files"]}
        changed = {*differences(before, after)}
        done = {name for name, one in told.items() if one["outcome"] in DONE} if result["applied"] else set()
        holds(changed <= done, f"{where} changed {changed - done} without a word: {result['files']}")
        holds(all(one["outcome"] != "failed" for one in told.values()), f"{where}: {result['files']}")
        self._holds_tree(result["after"])
        if changed:
            self._event()
        else:
            self._may_be_event()
        if asked.target is not None:
            self._tape.figures.restores += 1
            wrong = {*differences(after, asked.target)}
            holds(not wrong, f"{where} left {wrong}:\n{shown(after, wrong)}\nwanted:\n{shown(asked.target, wrong)}")
            return
        if "steps" in result:
            self._check_steps(asked, result, before, after, told)

    def _check_steps(
        self, asked: _Asked, result: dict[str, Any], before: Folder, after: Folder, told: dict[str, Any]
    ) -> None:
        """Compares what an undo or redo of one step came to with what the lines say."""
        names = [step["stepId"] for step in result["steps"]]
        steps = [next(step for step in self._steps if step.name == name) for name in names]
        is_undo = asked.method == "session/undo"
        if not steps:
            changing = [step.name for step in asked.steps or () if step.own.chains]
            holds(not changing, f"{asked.method} {asked.params} took back none of {changing}")
            for step in asked.steps or ():
                # one that is open is ended first, be there anything to take back or not
                step.end_unspoken()
            return
        holds(len(steps) == 1, f"{asked.method} of one took {names}")
        step = steps[0]
        work = step.own.copy() if is_undo else (step.undoing or Work()).copy()
        known = is_undo or step.undoing is not None
        conflicts = {name for name, one in told.items() if one["outcome"] in ("conflict", "kept", "skipped")}
        where = f"{asked.method} {asked.params} of {step.name} ({step.state})"
        holds(not (conflicts & {*differences(before, after)}), f"{where} wrote what conflicts: {told}")
        if result["applied"] and known:
            is_whole = not (is_undo and step.is_partly)
            self._check_lines(where, asked, work, before, after, conflicts, is_whole=is_whole)
        if not result["applied"]:
            return
        state = result["steps"][0]["state"]
        self._tape.figures.undos += is_undo
        self._tape.figures.redos += not is_undo
        step.end_unspoken()
        step.state = "applied" if state == "applied" else "undone"
        effects = Work(left=dict(after))
        effects.see(before, after)
        # what was taken back in pieces is done again at once, with the pieces that are not known here
        step.undoing = effects if is_undo and not step.is_partly else None
        step.is_partly = state == "partly"

    def _check_lines(
        self,
        where: str,
        asked: _Asked,
        work: Work,
        before: Folder,
        after: Folder,
        conflicts: set[str],
        *,
        is_whole: bool,
    ) -> None:
        figures = self._tape.figures
        expected_outcomes: Foretold = taken_back(work, before)
        is_told = is_whole and asked.params.get("onConflict") != "overwrite" and not expected_outcomes.open
        for name, text in expected_outcomes.files.items() if is_told else ():
            holds(name not in conflicts, f"{where}: {name} conflicts, and nothing overlaps\n{shown(before, [name])}")
            holds(
                after.get(name) == text,
                f"{where}: {name} is\n{shown(after, [name])}\nand not\n{shown({name: text}, [name])}",
            )
            figures.undos_foretold += 1
        figures.undos_overlapping += len(expected_outcomes.overlapping)
        figures.undos_open += len(expected_outcomes.open)
        if asked.params.get("onConflict") == "overwrite":
            return
        came, went = work.lines()
        lost = gone(before, after) - came
        holds(not lost, f"{where} took lines of others away: {sorted(lost)}")
        new = come(before, after) - went
        holds(not new, f"{where} brought lines that it did not take: {sorted(new)}")
        figures.lines_checked += sum(len(text) for text in before.values())

    async def _back(self, session: str, before: Folder, middle: Folder) -> None:
        """An undo and its redo lead back to where they began."""
        if before == middle:
            return
        asked = _Asked("session/redo", {"sessionId": session}, [])
        if await self._do(asked) is None:
            holds(False, f"the undo in {session} changed something, and there is nothing to redo")
        now = read(self._root)
        wrong = {*differences(before, now)}
        holds(not wrong, f"undo and redo in {session} do not lead back:\n{shown(before, wrong)}\n{shown(now, wrong)}")

    # -- kills

    async def _kill(self) -> None:
        """Kills the daemon while nothing is under way."""
        before = read(self._root)
        await self._restart()
        await self._track()
        now = read(self._root)
        holds(now == before, f"the daemon was killed, and the next one changed {sorted(differences(before, now))}")

    async def _operate_and_kill(self, asked: _Asked) -> None:
        """Kills the daemon while an operation is under way: it is done as a whole, or not at all."""
        before = read(self._root)
        dry = await self._ask(asked, is_dry=True)
        if dry is None:
            return
        present = [step for step in self._at_work() if not step.is_left]
        under_way = asyncio.ensure_future(self._ask(asked, is_dry=False))
        await asyncio.sleep(self._dice.random() ** 2 * _KILL_DELAY)
        # its event may stand in the timeline, and those who were at work then are the authors until there
        self._may_be_event()
        await self._restart()
        with contextlib.suppress(Gone):
            await under_way
        await self._track()
        after = read(self._root)
        self._tape.figures.kills_amid_operations += 1
        changed = {*differences(before, after)}
        done = {one["file"] for one in dry["files"] if one["outcome"] in DONE}
        holds(changed <= done, f"{asked.method} {asked.params} was cut short and changed {changed}, not {done}")
        if asked.target is not None:
            left = {*differences(after, asked.target)}
            holds(not (changed and left), f"a restore was cut short and is half done: {changed}, {left}")
        for session in SESSIONS:
            await self._learn(session, before if changed else after, after, present, dry["before"])

    async def _learn(
        self, session: str, before: Folder, after: Folder, present: Sequence[Step] = (), seen: str = ""
    ) -> None:
        """Takes over what the timeline says of the steps of a session.

        Args:
            session: of the steps.
            before: the folder before an operation that may have been done.
            after: the folder now.
            present: the steps whose agents were there when the operation began.
            seen: the snapshot with which it began.
        """
        for told in (await self._tool.ask("session/steps", {"sessionId": session}))["steps"]:
            step = next((step for step in self._steps if step.name == told["stepId"]), None)
            holds(step is not None, f"{session} has a step that nobody began: {told}")
            assert step is not None
            state = "undone" if told["state"] == "partly" else told["state"]
            step.is_partly = told["state"] == "partly"
            if state == step.state:
                continue
            was_known = step.state != "unknown"
            if step in present and told.get("to") == seen:
                # the operation ended it, and so all that it had done is its own
                step.sure = step.work.copy()
            step.end_unspoken()
            step.undoing = None
            if state == "undone" and was_known:
                step.undoing = Work()
                step.undoing.see(before, after)
            step.state = state

    async def _restart(self) -> None:
        await self._daemon.kill()
        self._daemon.check_log()
        self._tape.figures.kills += 1
        for client in (self._tool, *self._agents.values()):
            client.close()
        self._tape.new_life()
        await self._daemon.start()
        await self._connect()
        for step in self._at_work():
            if not step.is_left:
                self._leave(step)


def _is_settled(step: Step) -> bool:
    """Whether nobody will still say of a file that it is its own and not the step's."""
    if step.state == "open":
        return not (step.company or step.is_doubtful)
    return all(other.state != "open" for other in step.company)


def _told(result: dict[str, Any]) -> tuple[Any, ...]:
    """What a dry run and the operation have in common."""
    rows = [(one["file"], one["outcome"], one.get("reason")) for one in result["files"]]
    return rows, result["before"], [step["stepId"] for step in result.get("steps", ())]


async def histories(folder: Path, seed: int, minutes: float, least: int, tape: Tape, kills: float = 0.1) -> None:
    """Goes through one history after the other.

    Args:
        least: histories that are gone through in any case.
    """
    daemon = Daemon(folder, tape.figures)
    begun = time.monotonic()
    try:
        await daemon.start()
        number = 0
        while number < least or time.monotonic() - begun < minutes * 60:
            dice = Random(f"{seed}/{number}")
            await History(folder / f"history{number}", daemon, tape, dice, kills).run()
            number += 1
        await daemon.stop()
        daemon.check_log()
    finally:
        await daemon.abandon()
