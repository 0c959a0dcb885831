"""What registries read of the project: one source, and the rules of each registry."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from scripts import metadata

ROOT = metadata.ROOT
_FEATURE_OPTION = {"type", "default", "description", "proposals", "enum"}
_FEATURE = {
    "id": str,
    "version": str,
    "name": str,
    "description": str,
    "documentationURL": str,
    "licenseURL": str,
    "keywords": list,
    "options": dict,
    "installsAfter": list,
    "postCreateCommand": str,
}
"""The members that we use of those that https://containers.dev/implementors/features/ has, and their types."""


def _read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / name).read_text("utf-8"))
    return found


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A checkout with the manifests alone."""
    for name in ["pyproject.toml", *metadata.texts()]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_a_new_version_and_home_reach_every_manifest(copy: Path) -> None:
    source = copy / "pyproject.toml"
    text = source.read_text("utf-8").replace('version = "0.1.0"', 'version = "4.5.6"', 1)
    source.write_text(text.replace("https://snapd.example/snapd", "https://github.com/someone/snapd"), "utf-8")
    written = metadata.texts(copy)
    for name, text in written.items():
        (copy / name).write_text(text, "utf-8")
        own = text if "lock" not in name else text[:200]
        assert "0.1.0" not in own, name
        assert metadata.RESERVED not in text, name
    assert metadata.texts(copy) == written, "a second run changes nothing"
    server = json.loads(written["server.json"])
    assert server["name"] == "io.github.someone/snapd"
    assert server["repository"] == {"url": "https://github.com/someone/snapd", "source": "github"}
    assert "<!-- mcp-name: io.github.someone/snapd -->" in written["README.md"]


def test_what_is_not_published(copy: Path) -> None:
    home = "https://github.com/someone/snapd"
    (copy / "CHANGELOG.md").write_text("# Changelog\n\n## 0.1.0 (unreleased)\n")
    assert "snapd.example/snapd is a reserved name" in metadata.refusal(copy, "v0.1.0", home)
    source = copy / "pyproject.toml"
    source.write_text(source.read_text("utf-8").replace("https://snapd.example/snapd", home), "utf-8")
    assert "and this is https://github.com/else" in metadata.refusal(copy, "v0.1.0", "https://github.com/else")
    assert "the tag is v0.1.1, and the version 0.1.0" in metadata.refusal(copy, "v0.1.1", home)
    assert "0.1.0 is unreleased" in metadata.refusal(copy, "v0.1.0", home)
    (copy / "CHANGELOG.md").write_text("# Changelog\n\n## 0.1.0 (2026-12-01)\n")
    assert metadata.refusal(copy, "v0.1.0", home) == ""


def test_the_entry_for_the_mcp_registry() -> None:
    """The rules of its schema of 2025-12-11, as far as they concern us, and those that it has beside its schema."""
    entry = _read("server.json")
    assert entry["$schema"] == "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
    assert set(entry) <= {"$schema", "name", "title", "description", "version", "websiteUrl", "repository", "packages"}
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", entry["name"])
    assert 1 <= len(entry["description"]) <= 100
    assert 1 <= len(entry["title"]) <= 100
    (package,) = entry["packages"]
    assert package["registryType"] == "pypi"
    assert package["version"] == entry["version"] == metadata.project().version
    assert package["packageArguments"] == [{"type": "positional", "value": "mcp"}]
    assert package["transport"] == {"type": "stdio"}
    # it looks for this in the description on PyPI, which is the README
    assert f"mcp-name: {entry['name']} " in (ROOT / "README.md").read_text("utf-8")


def test_the_dev_container_feature() -> None:
    feature = _read("devcontainer-feature/devcontainer-feature.json")
    assert {"id", "version", "name"} <= set(feature)
    for name, value in feature.items():
        assert isinstance(value, _FEATURE[name]), name
    assert re.fullmatch(r"[a-z0-9-]+", feature["id"])
    assert re.fullmatch(r"\d+\.\d+\.\d+", feature["version"])
    for option in feature["options"].values():
        assert {"type", "default"} <= set(option) <= _FEATURE_OPTION
        assert isinstance(option["default"], {"string": str, "boolean": bool}[option["type"]])
    assert (ROOT / "devcontainer-feature/install.sh").stat().st_mode & 0o111


def test_the_marketplace_names_the_plugin() -> None:
    (plugin,) = _read(".claude-plugin/marketplace.json")["plugins"]
    folder = ROOT / plugin["source"]
    assert json.loads((folder / ".claude-plugin/plugin.json").read_text("utf-8"))["name"] == plugin["name"]
    skill = (folder / "skills/snapd/SKILL.md").read_text("utf-8")
    head = re.match(r"---\nname: snapd\ndescription: (.+)\n---\n", skill)
    assert head is not None
    assert len(head[1]) <= 1024
    assert skill.count("\n") < 100
