"""What is installed is what was looked at: pinned, by its hash, from whichever registry the machine has."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import pytest

from snapd.agents.table import AGENTS as KNOWN

from .agents.agent import Agent
from .agents.claude import Claude
from .agents.table import AGENTS
from .install import PACKAGES, NotInstalled, install
from .scenarios.actions import Action

_LOCKED = {"name": "x", "packages": {"": {"name": "x"}, "node_modules/bot": {"integrity": "sha512-right"}}}
_NPM = """\
#!/bin/sh
# installs one package, with the hash and the size that it is told
echo "$PWD" >> {log}
echo complaint >&2
mkdir -p node_modules/bot npm
echo '{{"packages": {{"node_modules/bot": {{"integrity": "sha512-{hash}"}}}}}}' > node_modules/.package-lock.json
head -c {size} /dev/zero > node_modules/bot/{program}
exit {code}
"""


class Bot(Claude):
    name = "bot"
    program = "node_modules/bot/bot"
    most_mib = 1
    tools: ClassVar[Mapping[type[Action], str]] = {}


@pytest.fixture
def bot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Agent:
    package = tmp_path / "packages" / "bot"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"dependencies": {"bot": "1.0.0"}}')
    (package / "package-lock.json").write_text(json.dumps(_LOCKED))
    monkeypatch.setattr("tests.real_agents.install.PACKAGES", tmp_path / "packages")
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return Bot()


def npm(above: Path, *, hash: str = "right", size: int = 10, program: str = "bot", code: int = 0) -> None:  # noqa: A002
    script = above / "bin" / "npm"
    script.write_text(_NPM.format(log=above / "log", hash=hash, size=size, program=program, code=code))
    script.chmod(0o755)


def test_an_agent_is_installed_once(bot: Agent, tmp_path: Path) -> None:
    npm(tmp_path)
    cache = tmp_path / "cache"
    for _ in range(2):
        assert (install(bot, cache) / bot.program).stat().st_size == 10
    assert len((tmp_path / "log").read_text().splitlines()) == 1
    # another version
    (tmp_path / "packages" / "bot" / "package.json").write_text('{"dependencies": {"bot": "1.0.1"}}')
    npm(tmp_path, size=11)
    assert (install(bot, cache) / bot.program).stat().st_size == 11
    assert sorted(path.name for path in cache.iterdir()) == ["bot", "lock"]


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({"code": 1}, "npm failed: complaint"),
        ({"hash": "wrong"}, "the lock file has no such node_modules/bot"),
        ({"program": "other"}, "the package has no node_modules/bot/bot"),
        ({"size": 2 << 20}, "it takes 2 MiB; 1 MiB are allowed"),
    ],
    ids=lambda value: "" if isinstance(value, dict) else value,
)
def test_what_is_not_as_it_should_be_is_not_installed(bot: Agent, tmp_path: Path, made: dict, said: str) -> None:  # type: ignore[type-arg]
    npm(tmp_path, **made)
    with pytest.raises(NotInstalled, match=said):
        install(bot, tmp_path / "cache")
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == ["lock"]


def test_without_npm_nothing_is_installed(bot: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(NotInstalled, match="no npm"):
        install(bot, tmp_path / "cache")


def test_every_agent_has_its_package() -> None:
    assert sorted(folder.name for folder in PACKAGES.iterdir()) == sorted(AGENTS)


@pytest.mark.parametrize("name", AGENTS)
def test_packages_are_locked(name: str) -> None:
    package = json.loads((PACKAGES / name / "package.json").read_text())
    locked = json.loads((PACKAGES / name / "package-lock.json").read_text())["packages"]
    assert locked.pop("")["dependencies"] == package["dependencies"]
    for wanted, version in package["dependencies"].items():
        assert version.rpartition("@")[2] == locked[f"node_modules/{wanted}"]["version"]
    for found in locked.values():
        assert found["integrity"].startswith("sha512-")
        assert "resolved" not in found


def test_snapd_names_the_versions_that_are_run() -> None:
    for name in AGENTS:
        (version,) = json.loads((PACKAGES / name / "package.json").read_text())["dependencies"].values()
        assert version.rpartition("@")[2].removesuffix("-linux-x64") == KNOWN[name].tested
