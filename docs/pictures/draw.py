"""Draws `command-line.svg`: the real Claude Code at work for a scripted model, and an undo of its first step.

    make agents ONLY="claude day"      # installs Claude Code
    scripts/with-node .venv/bin/python docs/pictures/draw.py

It runs in a folder and a home of its own.
"""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

from moving import Moving

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.real_agents.agents.claude import Claude
from tests.real_agents.install import cache_folder, install
from tests.real_agents.model.script import Call, Conversation, Turn
from tests.real_agents.model.server import running
from tests.real_agents.place import SNAPD, Place, new_place

BASKET = """\
def total(prices):
    return sum(prices)

def pay(amount):
    return amount
"""
ROUND = "Round the total, and make the prices a CSV file"
ROUNDED = "sed -i 's/sum(prices)/round(sum(prices), 2)/' basket.py && tr ' ' , <prices.txt >prices.csv && rm prices.txt"
OFF = "Take ten per cent off"


def main() -> None:
    """Runs the commands and draws what they print."""
    claude = Claude()
    program = install(claude, cache_folder()) / claude.program
    with running() as model, new_place() as place:
        for each in place.project.glob("[!.]*"):
            each.unlink()
        place.write("basket.py", BASKET)
        place.write("prices.txt", "tea 3.20\ncake 4.15\n")
        allowed = {"permissions": {"allow": ["Bash"], "defaultMode": "acceptEdits"}}
        settings = place.home / ".claude" / "settings.json"
        settings.parent.mkdir()
        settings.write_text(json.dumps(allowed))
        place.settle(claude, program, model.url, installed=True)
        place.environment.update(claude.environment(place.home, model.url), TERM="xterm-256color")
        file = str(place.project / "basket.py")
        rounds = Call("Bash", {"command": ROUNDED, "description": "round the total, write prices.csv"})
        takes = Call(
            "Edit", {"file_path": file, "old_string": "return amount", "new_string": "return round(amount * 0.9, 2)"}
        )
        reads = Call("Read", {"file_path": file})
        model.script = (
            Conversation(ROUND, (Turn("", (rounds,)), Turn("The total is rounded, and prices.csv has the prices."))),
            Conversation(OFF, (Turn("", (reads,)), Turn("", (takes,)), Turn("Customers now pay 90 %."))),
        )
        picture = Moving()

        def show(command: str, words: list[str], answer: str = "") -> None:
            picture.command(command, *_printed(place, words, answer))

        show(f'claude -p "{ROUND}"', ["claude", "-p", ROUND])
        mine = "sed -i '1i # All prices are in euro.' basket.py"
        show(f"{mine}   # meanwhile, you", ["sh", "-c", mine])
        show(f'claude -p "{OFF}"', ["claude", "-p", OFF])
        show("snapd log", [SNAPD, "log", "--no-pager"])
        entries = json.loads(_printed(place, [SNAPD, "log", "--json"])[0])["entries"]
        first = next(each["step"]["stepId"][:6] for each in entries if each.get("step", {}).get("tool") == "Bash")
        show(f"snapd undo {first}", [SNAPD, "undo", first], "y\n")
        show("cat basket.py; ls", ["sh", "-c", "cat basket.py; ls"])
    picture.save(Path(__file__).with_name("command-line.svg"))


def _printed(place: Place, words: list[str], answer: str = "") -> list[str]:
    """What a command prints on a terminal; in two parts where a person answers its question.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    ours, theirs = pty.openpty()
    environment = {**place.environment, "COLUMNS": str(Moving.columns)}
    with subprocess.Popen(
        words, cwd=place.project, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    ) as process:
        os.close(theirs)
        printed = b""
        asked = 0
        while True:
            try:
                read = os.read(ours, 65536)
            except OSError:  # EIO: nobody has the other end open any more
                break
            printed += read
            if answer and not asked and printed.rstrip().endswith(b"]"):
                asked = len(printed)
                os.write(ours, answer.encode())
    os.close(ours)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, words, printed)
    parts = [printed[:asked] + answer.encode(), printed[asked:].partition(b"\n")[2]] if answer else [printed]
    return [part.decode().replace("\r\n", "\n") for part in parts]


if __name__ == "__main__":
    main()
