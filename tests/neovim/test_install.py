"""The plugin as users install it, and what its files must hold: help, documents, no stray globals."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.neovim.editor import PLUGIN, ROOT, program

if TYPE_CHECKING:
    from tests.cli.running import Home

SOURCES = sorted(PLUGIN.rglob("*.lua"))
HELP = (PLUGIN / "doc" / "snapd.txt").read_text("utf-8")
PAGE = (ROOT / "docs" / "neovim.md").read_text("utf-8")
MOST_LINES = 350
# what Lua itself, LuaJIT and Neovim define, as far as it is used
GLOBALS = {
    *("assert", "error", "getmetatable", "io", "ipairs", "math", "next", "os", "pairs", "pcall", "require", "select"),
    *("setmetatable", "string", "table", "tostring", "type", "unpack", "debug", "coroutine", "vim"),
}


def run_lua(code: str, *args: str, env: dict[str, str] | None = None) -> str:
    """Runs Lua in a Neovim without the plugin; gives what it prints."""
    command = [program(), "--headless", "-u", "NONE", "-i", "NONE", "--cmd", f"lua {code}", "-c", "qa!", *args]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, env=env)
    return done.stderr + done.stdout


def test_as_a_package(home: Home, project: str, tmp_path: Path) -> None:
    """With the one link that the page names. It leads to a copy: `:helptags` writes beside the help."""
    packages = tmp_path / "nvim" / "site" / "pack" / "snapd" / "start"
    packages.mkdir(parents=True)
    copy = tmp_path / "plugin"
    shutil.copytree(PLUGIN, copy)
    (packages / "snapd").symlink_to(copy)
    env = {**home.env, "XDG_DATA_HOME": str(tmp_path), "PATH": f"{ROOT / '.venv' / 'bin'}:{home.env['PATH']}"}
    command = [program(), "--headless", "-i", "NONE", "a.txt", "-c", "checkhealth snapd"]
    code = "print(table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '\\n'))"
    done = subprocess.run(
        [*command, "-c", f"lua {code}", "-c", "helptags ALL", "-c", "help snapd-review", "-c", "qa!"],
        cwd=project, env=env, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert "supports everything that the plugin needs" in done.stderr, done
    assert "Error" not in done.stderr


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(PLUGIN)))
def test_a_source(source: Path) -> None:
    """It is small, says what it is for, compiles, touches no global, and describes what others may call."""
    text = source.read_text("utf-8")
    lines = text.splitlines()
    assert len(lines) <= MOST_LINES
    assert source.name == "snapd.lua" or text.startswith(("--- ", "-- generated"))
    code = f"""
        local names = {{}}
        local out = {{ write = function(_, ...) table.insert(names, table.concat({{ ... }})) end,
          close = function() end, flush = function() end }}
        require("jit.bc").dump(assert(loadfile({json.dumps(str(source))})), out, true)
        io.stdout:write(table.concat(names))
    """
    listing = run_lua("\n".join(code.split("\n")).replace("\n", " "))
    used = set(re.findall(r"\bGGET\b.*; \"(\w+)\"", listing))
    assert "BCSAVE" in listing or "BYTECODE" in listing, listing
    assert used - GLOBALS == set()
    assert used
    assert not re.search(r"\bGSET\b", listing)
    for number, line in enumerate(lines):
        if re.match(r"function M[.:]\w+", line):
            above = lines[number - 1]
            assert above.startswith("---"), (number + 1, line)


def commands() -> list[str]:
    return re.findall(r'name = "(Snapd\w*)"', (PLUGIN / "lua/snapd/commands.lua").read_text("utf-8"))


def test_the_help_has_every_command_key_and_option() -> None:
    names = commands()
    assert len(names) == 16
    assert [name for name in names if f"*:{name}*" not in HELP] == []
    config = (PLUGIN / "lua/snapd/config.lua").read_text("utf-8")
    defaults = config[config.index("local DEFAULTS = {") :]
    keys = re.findall(r'    (\w+) = "([^"]+)",', defaults)
    assert len(keys) == 7
    for name, key in keys:
        assert re.search(rf"\b{name}\s+{re.escape(key)}\s", HELP), name
        assert f"`{name}`" in PAGE
        assert f"`{key}`" in PAGE or key in ("]s", "[s")
        assert f"*<Plug>(snapd-{name.replace('_', '-')})*" in HELP
    for option in re.findall(r"^  (\w+) = ", defaults.partition("\n}\n")[0], re.MULTILINE):
        assert f"`{option}`" in PAGE, option
        assert re.search(rf"^\t  {option} = ", HELP, re.MULTILINE), option


def test_the_help_has_every_highlight_group_and_key_of_the_window() -> None:
    groups = re.findall(r"  (Snapd\w+) = ", (PLUGIN / "lua/snapd/highlights.lua").read_text("utf-8"))
    assert len(groups) > 10
    assert [group for group in groups if f"`{group}`" not in HELP] == []
    used = {group for path in SOURCES for group in re.findall(r'"(Snapd[A-Z]\w*[a-z])"', path.read_text("utf-8"))}
    assert used - set(groups) - set(commands()) == set()
    keys = re.findall(r'\bkey = "([^"]+)", desc', (PLUGIN / "lua/snapd/history/actions.lua").read_text("utf-8"))
    section = HELP.partition("*snapd-steps-keys*")[2].partition("====")[0]
    assert [key for key in keys if key != "<2-LeftMouse>" and f"\t{key}\t" not in section] == []


def test_every_link_of_the_help_leads_somewhere() -> None:
    targets = set(re.findall(r"\*(\S+)\*", HELP))
    linked = set(re.findall(r"\|(snapd[\w-]*)\|", HELP))
    assert linked <= targets
    named = {name for path in SOURCES for name in re.findall(r":help (snapd-\w+)", path.read_text("utf-8"))}
    assert named <= targets


def test_every_claim_of_the_page_names_a_test_that_is_there() -> None:
    notes = dict(re.findall(r"^\[\^(\w+)\]: `([\w/.]+::\w+)`$", PAGE, re.MULTILINE))
    assert set(re.findall(r"\[\^(\w+)\](?!:)", PAGE)) == set(notes)
    for test in notes.values():
        file, name = test.split("::")
        tree = ast.parse((ROOT / file).read_text("utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, test
