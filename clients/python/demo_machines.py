"""A story: an agent works on one machine, another machine takes over, and the first one sees all of it.

    python clients/python/demo_machines.py

Each machine has a daemon, a data folder and a clone of its own; a bare git repository is between them. Nothing outside
a temporary directory is written. Whatever is claimed is looked at: the demo fails where it is not so.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from snapd_client import Client

if TYPE_CHECKING:
    from collections.abc import Iterable

WAIT_SECONDS = 600.0
PARSER = "".join(f"def rule_{number}(): ...\n\n\n" for number in range(1, 6))
IGNORED = "TOKEN=of-this-machine\n"


def say(text: str = "") -> None:
    """Prints a line of the story."""
    print(text, flush=True)


def check(what: str, holds: bool) -> None:
    """Prints that something is true, or ends the demo."""
    if not holds:
        raise SystemExit(f"  NOT TRUE: {what}")
    say(f"  ok: {what}")


def git(folder: str, *words: str) -> str:
    """Runs git in a folder, and returns its output."""
    who = ["-c", "user.name=Demo", "-c", "user.email=demo@localhost"]
    done = subprocess.run(["git", *who, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


class Machine:
    """A machine: a clone of the project, with a daemon and a data folder of its own.

    Args:
        name: as the story calls it.
        scratch: a directory for all of it.
        origin: the repository that it clones.
        stack: stops its daemon at the end.

    Attributes:
        client: a connection to its daemon.
    """

    def __init__(self, name: str, scratch: str, origin: str, stack: ExitStack) -> None:
        self.name = name
        self.folder = os.path.join(scratch, name, "project")
        git(scratch, "clone", "--quiet", origin, self.folder)
        variables = {
            "HOME": os.path.join(scratch, name),
            "SNAPD_DATA_DIR": os.path.join(scratch, name, "data"),
            "SNAPD_RUNTIME_DIR": os.path.join(scratch, name, "run"),
        }
        command = [sys.executable, "-m", "snapd"]
        environment = {**os.environ, **variables}
        stack.callback(subprocess.run, [*command, "stop"], env=environment, check=True)
        self.client = stack.enter_context(Client.spawn([*command, "connect"], env=environment, timeout=WAIT_SECONDS))
        self.client.initialize([self.folder], client_name=name)

    def write(self, name: str, text: str) -> None:
        """Writes a file."""
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name: str) -> str:
        """The text of a file."""
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read()

    def change(self, name: str, old: str, new: str) -> None:
        """Replaces a text in a file."""
        self.write(name, self.read(name).replace(old, new))

    def files(self) -> dict[str, str]:
        """All files but those of git, by their names."""
        return {name: self.read(name) for name in sorted(os.listdir(self.folder)) if name != ".git"}

    def step(self, session: str, description: str, changes: Iterable[tuple[str, str, str]]) -> str:
        """An agent changes texts in files, as one step; gives the name of the step."""
        step = self.client.step_begin(session, tool="edit", description=description)["stepId"]
        for name, old, new in changes:
            self.change(name, old, new)
        self.client.step_end(step)
        say(f"  {self.name}: step: {description}")
        return step

    def steps(self, session: str) -> list[dict[str, Any]]:
        """The steps of a session, oldest first."""
        return sorted(self.client.step_find(session_id=session)["steps"], key=lambda step: step["index"])

    def print_session(self, session: str) -> None:
        """Prints the steps of a session, as this machine knows them."""
        for step in self.steps(session):
            say(f"    {step['index'] + 1}. {step['description']}: {step['state']}")


def begin(first: Machine) -> tuple[str, list[str]]:
    """An agent works on the first machine; a part of it is committed nowhere."""
    say("An agent works on the first machine")
    session = first.client.session_start(agent="Ada")["sessionId"]
    steps = [
        first.step(session, "rule 1", [("parser.py", "rule_1(): ...", "rule_1(): return 1")]),
        first.step(session, "rule 3", [("parser.py", "rule_3(): ...", "rule_3(): return 3")]),
        first.step(session, "rule 5", [("parser.py", "rule_5(): ...", "rule_5(): return 5")]),
    ]
    first.write("typed.txt", "by the user, in no commit\n")
    first.write(".env", IGNORED)
    first.write("local.env", IGNORED)
    return session, steps


def hand_over(first: Machine) -> None:
    """The first machine hands over: what leaves it is shown first."""
    say("\nIt hands over. This would leave the machine:")
    plan = first.client.session_handover("origin", include=[".env"], dry_run=True)
    for file in plan["newFiles"]:
        warning = " (may hold a secret)" if file.get("reason") == "secret" else ""
        say(f"    {file['file']}, {file['size']} bytes{warning}")
    check("a dry run pushes nothing", git(first.folder, "ls-remote", "origin", "refs/snapd/*") == "")
    done = first.client.session_handover("origin", include=[".env"])
    say(f"  handed over as {done['name']}: {done['bytes']} bytes")


def take_over(second: Machine, first: Machine, session: str, steps: list[str]) -> None:
    """The second machine takes over, undoes the middle step, keeps the rest and goes on."""
    say("\nThe second machine, a fresh clone, takes over")
    taken = second.client.session_takeover("origin")
    for file in taken["files"]:
        say(f"    {file['file']} {file['outcome']}")
    there = {name: text for name, text in first.files().items() if name != "local.env"}
    check("it has all files, and of the ignored ones just the one that was asked for", second.files() == there)
    check("git sees them as changes that nobody committed", "typed.txt" in git(second.folder, "status", "--porcelain"))
    check("it knows every step", [step["stepId"] for step in second.steps(session)] == steps)

    say("\nIt undoes the step in the middle, keeps the rest, and the agent goes on")
    second.client.session_undo(session, step_id=steps[1])
    text = second.read("parser.py")
    check("only that step is gone", "return 3" not in text and "return 1" in text and "return 5" in text)
    second.client.review_keep(files=["parser.py"])
    second.step(session, "rule 2", [("parser.py", "rule_2(): ...", "rule_2(): return 2")])
    second.client.session_push("origin", [session])


def come_back(first: Machine, second: Machine, session: str) -> None:
    """The first machine fetches, and sees all of it; then it takes the work back."""
    say("\nThe first machine fetches. Its folder is not touched")
    files = first.files()
    first.client.session_fetch("origin")
    check("no file changed", first.files() == files)
    (known,) = (each for each in first.client.session_list()["sessions"] if each["sessionId"] == session)
    check("it sees that somebody took over", "takenOver" in known)
    first.print_session(session)
    check("it sees the new step", [step["description"] for step in first.steps(session)][-1] == "rule 2")

    say("\nThe second machine hands back")
    handed = second.client.session_handover("origin", name="back")
    taken = first.client.session_takeover("origin", name=handed["name"])
    check("nothing conflicts", taken["applied"] and all(file["outcome"] != "conflict" for file in taken["files"]))
    check("both have the same files", first.files() == {**second.files(), "local.env": IGNORED})
    first.print_session(session)
    parts = [[(step["stepId"], step["state"]) for step in machine.steps(session)] for machine in (first, second)]
    check("both tell the same story", parts[0] == parts[1])


def main() -> None:
    """Tells the story."""
    with tempfile.TemporaryDirectory(prefix="snapd-demo-") as made, ExitStack() as stack:
        scratch = os.path.realpath(made)
        origin = os.path.join(scratch, "origin.git")
        git(scratch, "init", "--quiet", "--bare", "--initial-branch=main", origin)
        seed = os.path.join(scratch, "seed")
        git(scratch, "clone", "--quiet", origin, seed)
        for name, text in (("parser.py", PARSER), (".gitignore", "*.env\n")):
            with open(os.path.join(seed, name), "w", encoding="utf-8") as file:
                file.write(text)
        git(seed, "add", ".")
        git(seed, "commit", "--quiet", "--message=first")
        git(seed, "push", "--quiet", "origin", "HEAD:main")
        first, second = (Machine(name, scratch, origin, stack) for name in ("first", "second"))
        session, steps = begin(first)
        hand_over(first)
        take_over(second, first, session, steps)
        come_back(first, second, session)
        check("git finds nothing wrong with the repository between them", git(origin, "fsck", "--no-dangling") == "")


if __name__ == "__main__":
    main()
