"""A stranger's first hour with snapd: what they type, and what they see.

`ACTS` has what they type. A line that begins with `$` is a command of a shell in the project; what follows `?` answers
the question that the command asks; everything else is for the reader. What they see is in `transcripts`, as text for
people to read: `python -m tests.cli.first_hour` writes it anew, and each change of it is to be looked at as text.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from snapd.sharing.sessions import SHORTEST
from tests.cli.running import Home, Terminal
from tests.support.git import run_git

if TYPE_CHECKING:
    from collections.abc import Iterator

TRANSCRIPTS = Path(__file__).parent / "transcripts"
_WIDTH = "96"
_SETTLED = (
    # a progress bar, which a slow machine shows and takes away again
    (re.compile(r"\x1b\[\?25l.*?\x1b\[\?25h\s*\x1b\[1A\x1b\[2K", re.DOTALL), ""),
    # what differs from one run to the next
    (re.compile(r"\bnow\b|\b\d+ (?:second|minute)s? ago\b"), "now"),
    (re.compile(r"\b\d{4}-\d\d-\d\d"), "2026-01-01"),
    (re.compile(r"(?<!\d)\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?!\d)"), "12:00"),
    (re.compile(r"\bfor \d+\.\d s\b"), "for 0.1 s"),
    (re.compile(r"\b\d+(?:\.\d+)? (?:bytes|KiB|MiB)\b"), "9 KiB"),
    (re.compile(r"^ +(?=9 KiB)", re.MULTILINE), "  "),
    (re.compile(r"\b\w+day, \d+ \w+ \d{4}\b|\b(?:to|yester)day\b"), "today"),
    # a column is as wide as its widest cell
    (re.compile(r"(?<=[^\s+-]) {3,}"), "  "),
)
_MADE = re.compile(r'"([0-9a-f]{16}|[0-9a-f]{32})"')
"""The names that snapd makes at random."""

SHOP = {
    "README.md": "# Shop\n\nA small shop.\n",
    "shop/basket.py": "def total(prices):\n    result = 0\n    for price in prices:\n        result += price\n"
    "    return result\n\n\ndef count(prices):\n    return len(prices)\n",
    "shop/tax.py": "RATE = 0.2\n\n\ndef tax(amount):\n    return amount * RATE\n",
    ".gitignore": "*.env\n",
    "secret.env": "KEY=1\n",
}

AGENT = """\
cat > shop/basket.py <<'END'
def total(prices):
    return sum(prices)


def count(prices):
    return len(prices)
END
git mv -q shop/tax.py shop/taxes.py 2> /dev/null || mv shop/tax.py shop/taxes.py
rm secret.env
"""

ACTS = {
    "1-run-an-agent": """\
The first command in a folder takes the first snapshot.
$ snapd run --agent tidy --title 'Tidy up' -- sh ../agent.sh
$ snapd log
$ snapd show last
""",
    "2-undo": """\
You have gone on in the same file.
$ printf '\\n\\ndef is_empty(prices):\\n    return not prices\\n' >> shop/basket.py
$ snapd undo
? y
What you wrote is still there.
$ tail -n 3 shop/basket.py
$ snapd log
$ snapd redo --yes
$ snapd undo --dry-run
""",
    "3-conflict": """\
Now you change the very line that the agent changed.
$ sed -i 's/return sum(prices)/return sum(prices, start=0)/' shop/basket.py
$ snapd undo --yes
$ snapd undo --yes --on-conflict overwrite
$ snapd status
""",
    "4-restore": """\
$ snapd track
$ rm -r shop
$ snapd restore last
? n
$ snapd restore --yes last
$ ls shop
""",
    "5-mistakes": """\
$ snapd udno
$ snapd show nope
$ snapd revert last nope.txt
$ snapd restore 0123456
$ snapd -C absent log
""",
    "6-find-and-free": """\
$ snapd sessions
$ snapd log --oneline shop/tax.py
$ snapd files last
$ snapd show README.md@last
$ snapd du
$ snapd gc
""",
    "7-review": """\
Two agents have worked, and you have not.
$ snapd run --agent ada -- sh -c 'echo Welcome. >> README.md'
$ snapd run --agent ben -- sh -c 'sed -i s/0.2/0.19/ shop/tax.py'
$ snapd log
$ snapd review
$ snapd review -p shop/tax.py
$ snapd blame README.md
$ snapd keep README.md
$ snapd review
""",
    "8-git": """\
$ git status --short
$ snapd stage last
$ git diff --cached
$ snapd stage last --message
$ git restore --staged shop/tax.py
""",
    "9-trouble": """\
$ snapd agent status | grep -A 1 '^no  *claude'
$ snapd agent install claude
$ snapd agent status | grep '^ok'
$ sed -i '1s/{/{"disableAllHooks": true,/' ~/.claude/settings.json
$ snapd agent status | grep -A 1 '^bad'
$ sed -i 's/"disableAllHooks": true,//; s#/[^ "]*/snapd#/opt/old/snapd#g' ~/.claude/settings.json
$ snapd agent status | grep -A 1 '^bad'
$ snapd agent install claude codex
$ snapd agent status | grep -A 1 '^bad'
$ echo 'retension = 30' > ~/.config/snapd/config.toml
$ snapd doctor | grep -v '^ok'
$ rm ~/.config/snapd/config.toml
""",
}

_BEGUN = "2026-01-05T12:00:00Z"


def replay() -> dict[str, str]:
    """The transcript of each act, by its name."""
    home = Home()
    try:
        project = home.project("shop", {name: text.encode() for name, text in SHOP.items()})
        Path(home.at("agent.sh")).write_text(AGENT)
        # agents to connect, whatever this machine has
        for agent in (Path(home.at("bin/claude")), Path(home.at("bin/codex"))):
            agent.parent.mkdir(exist_ok=True)
            agent.write_text("#!/bin/sh\n")
            agent.chmod(0o755)
        home.env["PATH"] = os.pathsep.join([home.at("bin"), os.path.dirname(sys.executable), home.env["PATH"]])
        run_git(Path(project), "init", "-q")
        run_git(Path(project), "add", ".")
        # at a time of its own, so that it is the same commit each time
        when = {"GIT_AUTHOR_DATE": _BEGUN, "GIT_COMMITTER_DATE": _BEGUN}
        words = ["-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q", "-m", "Begin"]
        subprocess.run(["git", *words], cwd=project, env={**home.env, **when}, check=True)
        names: dict[str, str] = {}
        return {act: "".join(_played(home, project, script, names)) for act, script in ACTS.items()}
    finally:
        home.close()


def _played(home: Home, project: str, script: str, names: dict[str, str]) -> Iterator[str]:
    lines = script.splitlines()
    for at, line in enumerate(lines):
        if line.startswith("?"):
            continue
        yield f"{line}\n"
        if not line.startswith("$ "):
            continue
        answers = [answer[2:] for answer in lines[at + 1 : at + 2] if answer.startswith("? ")]
        shown, code = _typed(home, project, line[2:], answers)
        yield _settled(shown, home, project, names)
        if code:
            yield f"[exit code {code}]\n"


def _typed(home: Home, project: str, line: str, answers: list[str]) -> tuple[str, int]:
    """What a command shows, and its exit code."""
    words = shlex.split(line)
    if words[0] != "snapd" or "|" in words:
        done = subprocess.run(
            ["sh", "-c", line], cwd=project, env=home.env, capture_output=True, text=True, check=False
        )
        return done.stdout + done.stderr, done.returncode
    terminal = Terminal(home, project, *words[1:], env={"COLUMNS": _WIDTH, "NO_COLOR": "1", "PAGER": "cat"})
    for answer in answers:
        terminal.wait_for(b"] ")
        terminal.type(f"{answer}\n".encode())
    result = terminal.finish()
    # said where the machine is slow
    return result.err.replace("\r\n", "\n").replace("snapd: starting the daemon...\n", ""), result.code


def _settled(shown: str, home: Home, project: str, names: dict[str, str]) -> str:
    """The output without what differs from one run to the next."""
    text = shown
    for folder in (home.at("home"), home.path):
        text = text.replace(os.path.realpath(folder), "~").replace(folder, "~")
    for pattern, instead in _SETTLED:
        text = pattern.sub(instead, text)
    for asked in (("log", "-n", "0"), ("sessions",), ("status",)):
        for made in _MADE.findall(home.run(project, *asked, "--json").text):
            names.setdefault(made, hashlib.sha1(b"%d" % len(names)).hexdigest()[:16])
    for made, name in names.items():
        text = text.replace(made, name).replace(made[:SHORTEST], name[:SHORTEST])
    return text


def main() -> None:
    """Writes the transcripts anew."""
    TRANSCRIPTS.mkdir(exist_ok=True)
    for old in TRANSCRIPTS.iterdir():
        old.unlink()
    for act, text in replay().items():
        (TRANSCRIPTS / f"{act}.txt").write_text(text, "utf-8")
    print(f"written: {len(ACTS)} transcripts in {TRANSCRIPTS}", file=sys.stderr)


if __name__ == "__main__":
    main()
