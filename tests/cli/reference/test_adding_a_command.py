"""A command is one file: with that and `make generate`, it is in the help, in the schema, and runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from snapd.cli.reference.__main__ import ROOT, SOURCES

if TYPE_CHECKING:
    from pathlib import Path

CODE = '''"""`snapd count-sessions`: how many sessions the folder has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.cli.exit_codes import DONE
from snapd.cli.parsing.command import Answer, Command, common
from snapd.cli.requests.connection import ask, backend
from snapd.cli.terminal.output import print_json

if TYPE_CHECKING:
    import argparse
    from typing import Annotated


class SessionCount(Answer):
    """How many sessions the folder has."""

    session_count: Annotated[int, "All of them, ended ones too."]


@Command("count-sessions", "look closer", common, answer="SessionCount", example="count-sessions", shows=True)
def count_sessions(options: argparse.Namespace) -> int:
    """Count the sessions of the folder."""
    with backend(options) as found:
        count = len(ask(found, "session/list", {})["sessions"])
    if options.json:
        print_json({"sessionCount": count})
    else:
        print(count)
    return DONE
'''


def test_a_command_is_one_file(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    shutil.copytree(ROOT / "snapd", checkout / "snapd")
    for source in SOURCES:
        (checkout / source).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / source, checkout / source)
    (checkout / "snapd/cli/commands/count_sessions.py").write_text(CODE, "utf-8")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home")}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, (checkout, ROOT / "clients/python")))

    def run(*words: str) -> str:
        command = [sys.executable, "-m", *words]
        return subprocess.run(
            command, cwd=checkout, env=environment, check=True, stdout=subprocess.PIPE, text=True
        ).stdout

    run("snapd.cli.reference", "--quick")
    assert "  count-sessions  count the sessions of the folder\n" in run("snapd", "help", "--all")
    assert json.loads(run("snapd", "count-sessions", "--json", "--no-daemon")) == {"sessionCount": 0}
    schema = json.loads((checkout / "docs/cli.schema.json").read_text("utf-8"))
    assert schema["$defs"]["SessionCount"]["properties"]["sessionCount"]["type"] == "integer"
