"""A new user of a machine without Python: three commands from the file to the first undone step of a real agent."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.real_agents.agents.agent import Start
from tests.real_agents.agents.claude import Claude
from tests.real_agents.install import cache_folder, install
from tests.real_agents.model import script
from tests.real_agents.model.server import running

from .machine import Machine


def test_three_commands(machine: Machine) -> None:
    agent = Claude()
    tools = Path(machine.env["PATH"])
    (tools / agent.name).symlink_to(install(agent, cache_folder()) / agent.program)
    for tool in ("bash", "install"):
        found = shutil.which(tool)
        assert found is not None
        (tools / tool).symlink_to(found)
    machine.env["PATH"] += f":{machine.home}/.local/bin"
    readme = machine.project / "README.md"
    readme.write_text("# project\n")

    def types(line: str, **more: str) -> str:
        command = machine.command("sh", "-ec", line, network=True)
        env = {**machine.env, **more}
        done = subprocess.run(command, cwd=machine.project, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        print(f"$ {line}\n{done.stdout}", end="")
        return done.stdout

    types(f"install -D ~/{machine.file.name} ~/.local/bin/snapd")
    types("snapd agent install --all")
    with running() as model:
        call = script.Call("Write", {"file_path": str(machine.project / "notes.md"), "content": "# notes\n"})
        model.script = (script.Conversation("Write notes", (script.Turn("Yes.", (call,)),)),)
        words = " ".join(f"'{word}'" for word in agent.arguments(Start("Write notes", False, False, "hooks")))
        types(f"claude {words}", **agent.environment(machine.home, model.url))
    assert (machine.project / "notes.md").read_text() == "# notes\n"
    types("snapd undo --yes")
    assert not (machine.project / "notes.md").exists()
    assert readme.read_text() == "# project\n"
