"""All scenarios, in order."""

from __future__ import annotations

from .actions import GO, Awaits, Delegate, Edit, Read, Reply, Shell, Write
from .scenario import (
    AnotherAgent,
    Comments,
    Prepares,
    Prompt,
    Redoes,
    Restarts,
    Resumes,
    Rewinds,
    Saves,
    Scenario,
    Undoes,
    UndoesPrompt,
)

_GREETING = Write("greet.py", "def greet(name):\n    return 'Hello ' + name\n")
_COMMENT = Edit("calc.py", "    return a + b\n", "    return a + b  # the sum\n")
_GREET = Prompt(
    "Please add a greeting",
    (
        (Read("calc.py"),),
        (_GREETING,),
        (_COMMENT,),
        (Shell("mkdir -p build && printf 'built\\n' > build/log.txt"),),
        (Shell("echo half > half.txt; exit 3"),),
        (Shell("exit 3"),),
        # the second one of these ends while the first is under way, where an agent runs both at once
        (Shell("sleep 0.4; echo one > one.txt"), Write("two.txt", "two\n")),
    ),
)
_NOTE = Prompt(
    "Now write the notes",
    ((Write("notes.md", "# notes\n"),), (Shell("rm half.txt"),)),
    told=frozenset({"build/log.txt", "calc.py"}),
)

DAY = Scenario(
    "day",
    (
        _GREET,
        Saves({"README.md": "# demo\n\nWhat the user says.\n", "build/log.txt": "built\nand looked at\n"}),
        Undoes(_COMMENT),
        _NOTE,
        Undoes(_GREETING),
        Redoes(),
        UndoesPrompt(_NOTE),
    ),
)
"""Edits, commands, one that fails, calls at once; a step in the middle is taken back, and the agent goes on."""

_PART = Delegate(
    "a part of it: write from below", ((Shell("echo below > below.txt"),), (Write("below.md", "below\n"),))
)

_DELEGATE = Prompt(
    "Please have it done", ((Write("above.txt", "above\n"),), (_PART,), (Shell("echo after > after.txt"),))
)

SUBAGENT = Scenario(
    "subagent",
    (_DELEGATE, Undoes(_PART), Redoes()),
    frozenset({"delegate"}),
)
"""What a subagent does are parts of its step, which is taken back as a whole."""

DENIED = Scenario(
    "denied",
    (Prompt("Please try it", ((Write("a.txt", "a\n"),), (Shell("mkdir out && echo b > out/b.txt"),)), denied=True),),
)
"""Calls that are denied leave no step open, and own nothing."""

_LATE = Shell(
    f"until [ -e $TMPDIR/{GO} ]; do sleep 0.05; done; echo late > $TMPDIR/late; mv $TMPDIR/late late.txt",
    background=True,
)

_BUILD = Prompt("Please build aside", ((_LATE,), (Awaits("late.txt"), Write("next.txt", "next\n"))))

BACKGROUND = Scenario(
    "background",
    (_BUILD, UndoesPrompt(_BUILD)),
    frozenset({"background"}),
)
"""A command in the background writes after its call has ended, and before the next one: that is its step's."""

RUN = Scenario(
    "run",
    (Prompt("Please just run", ((_GREETING,), (Shell("echo run > run.txt"),))), Undoes(_GREETING)),
    frozenset({"run"}),
    way="run",
)
"""Nothing is installed: `snapd run` gives the agent its hooks."""

_GREET_IN_EDITOR = Prompt("Please do it in the editor", _GREET.turns)

EDITOR = Scenario(
    "editor",
    (_GREET_IN_EDITOR, Undoes(_COMMENT), Redoes()),
    frozenset({"acp"}),
    way="acp",
)
"""In an editor, with `snapd acp` in between: a prompt is a step, and its calls are parts of that."""

_REPOSITORY = Prepares("""
git config user.name demo
git config user.email demo@example.com
git tag v0
git tag -a -m one v1
git checkout -q -b topic
echo topic > topic.txt
git add -A
git commit -q -m topic
git checkout -q main
git gc -q
git init -q --bare "$TMPDIR/remote.git"
git remote add origin "$TMPDIR/remote.git"
git push -q origin main
git commit -q --allow-empty -m loose
echo one >> README.md
git stash -q
echo two >> README.md
git stash -q
git rm -q --cached README.md
""")
"""Branches, tags, packs, loose objects, a remote, two stash entries, and something staged."""
_CLEANS = Shell("git branch -D topic && git reflog expire --expire=now --all && git gc --prune=now", git=True)
_CLEAN = Prompt("Please clean up", ((Write("clean.md", "clean\n"),), (_CLEANS,)))
# Claude Code asks before a command that names .git
_FORGETS = Shell("sh anew.sh", git=True)
_FORGET = Prompt("Please begin anew", ((Write("anew.sh", "rm -rf .git\n"),), (_FORGETS,)), told_of_git=True)

GIT = Scenario("git", (_REPOSITORY, _CLEAN, Undoes(_CLEANS), _FORGET, Undoes(_FORGETS)))
"""What an agent did to git comes back: pruned objects, the stash, and then `.git` itself."""

_LIST = Prompt("Please begin a list", ((Write("list.md", "one\n"), Read("README.md")),))
_WRONG = Prompt("Now go the wrong way", ((Read("calc.py"),), (_COMMENT,), (Shell("echo wrong > wrong.txt"),)))
_RIGHT = Prompt("Rather go the right way", ((Write("right.txt", "right\n"),),))
_OLD = Prompt("What was the old way", ((Write("old.txt", "old\n"),),), told=frozenset({"calc.py"}))

REWIND = Scenario("rewind", (_LIST, _WRONG, Rewinds(_WRONG), _RIGHT, Resumes(_LIST), _OLD))
"""Files and conversation go back to before a prompt and go on from there; the old conversation can be resumed, too."""

_SAYS = "Use sum() here, please."

COMMENT = Scenario(
    "comment",
    (
        Prompt("Please write a total", ((Write("total.py", "def total(a, b):\n    return a + b\n"),),)),
        Comments("total.py", 2, _SAYS),
        Restarts(),
        Prompt(
            "Well, go on then",
            (
                (Read("total.py"),),
                (Edit("total.py", "    return a + b\n", "    return sum((a, b))\n"),),
                (Reply(_SAYS, "Done."),),
            ),
            comment=_SAYS,
        ),
    ),
    has_tools=True,
)
"""A comment waits for the agent, which hears of it once, replies and resolves it."""

_ADD = Edit("calc.py", "    return a + b\n", "    return b + a\n")
OVERLAP = Scenario(
    "overlap",
    (
        Prompt("Please turn it around", ((Read("calc.py"),), (_ADD,))),
        AnotherAgent("calc.py", "def add(a, b):\n    # both\n    return b + a\n"),
        Prompt(
            "And back, please",
            ((Read("calc.py"),), (Edit("calc.py", "    return b + a\n", "    return a + b\n"),)),
            told=frozenset({"calc.py"}),
            overlaps=True,
        ),
    ),
)
"""Two agents in one folder: the second hears of it before it edits."""

SCENARIOS = {
    scenario.name: scenario
    for scenario in (DAY, SUBAGENT, DENIED, BACKGROUND, RUN, EDITOR, GIT, REWIND, COMMENT, OVERLAP)
}
