"""Writes version, name, description and addresses from `pyproject.toml` into every other manifest.

The manifest of the VS Code extension has its settings of the daemon from the table of settings, and its colours of
agents from the vocabulary.

With `--check`, writes nothing and names what differs; with `--release`, also says what a tag must not be published for.
"""

from __future__ import annotations

import argparse
import json
import posixpath
import re
import sys
import textwrap
import tomllib
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import attrs

from snapd.agents.table import AGENTS
from snapd.hook.dialects import DIALECTS, END, PROMPT
from snapd.settings.table import SETTINGS
from snapd.wire.words import PALETTE

ROOT = Path(__file__).resolve().parent.parent
RESERVED = "snapd.example"
"""The host in all addresses until the project has a home; nothing is published from there."""
_FORGES = ("github.com", "gitlab.com")
"""Where the MCP registry looks for a repository."""


@attrs.frozen
class Project:
    """What `pyproject.toml` says of the project.

    Attributes:
        name: of the package and of the command.
        version: without a prefix.
        description: one line of at most 100 characters, as the MCP registry wants it.
        license: its SPDX identifier.
        repository: where the repository is, without a slash at the end.
        issues: where issues are filed.
    """

    name: str
    version: str
    description: str
    license: str
    repository: str
    issues: str

    @property
    def host(self) -> str:
        """Where the repository is hosted."""
        return urlsplit(self.repository).netloc

    @property
    def server(self) -> str:
        """The name in the MCP registry: the host backwards, or what GitHub's users may call theirs."""
        owner, _, name = urlsplit(self.repository).path.strip("/").rpartition("/")
        if self.host == "github.com":
            return f"io.github.{owner}/{name}"
        return f"{'.'.join(reversed(self.host.split('.')))}/{name}"

    def file(self, path: str) -> str:
        """The address of a file of the repository."""
        return f"{self.repository}/blob/main/{path}"


def project(root: Path = ROOT) -> Project:
    """Reads `pyproject.toml`."""
    read = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    urls = read["urls"]
    of = {key: read[key] for key in ("name", "version", "description", "license")}
    return Project(**of, repository=urls["Repository"], issues=urls["Issues"])


def texts(root: Path = ROOT) -> dict[str, str]:
    """What each file has to be, by its path in the repository."""
    known = project(root)
    return {name: change((root / name).read_text("utf-8"), known) for name, change in _FILES.items()}


def refusal(root: Path, tag: str, address: str) -> str:
    """Why a tag must not be published.

    Args:
        root: the checkout.
        tag: its name.
        address: where the repository is.

    Returns:
        A problem and a hint, or nothing.
    """
    known = project(root)
    if known.host == RESERVED:
        return f"pyproject.toml: {known.repository} is a reserved name\nhint: write the address of the repository there"
    if address != known.repository:
        return f"pyproject.toml: the repository is {known.repository}, and this is {address}\nhint: correct one of them"
    if tag != f"v{known.version}":
        return f"the tag is {tag}, and the version {known.version}\nhint: the tag of this version is v{known.version}"
    if f"\n## {known.version} (unreleased)\n" in (root / "CHANGELOG.md").read_text("utf-8"):
        return f"CHANGELOG.md: {known.version} is unreleased\nhint: write its date there"
    return ""


def main() -> int:
    """Runs the command; the exit code is 1 where `--check` found a difference, or a release is refused."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; name stale files and exit with 1")
    parser.add_argument("--release", nargs=2, metavar=("TAG", "ADDRESS"), help="what is published, and from where")
    options = parser.parse_args()
    if options.release and (problem := refusal(ROOT, *options.release)):
        print(problem, file=sys.stderr)
        return 1
    stale = {name: text for name, text in texts().items() if (ROOT / name).read_text("utf-8") != text}
    for name, text in stale.items():
        if options.check:
            print(f"stale: {name}; run make generate", file=sys.stderr)
        else:
            (ROOT / name).write_text(text, "utf-8")
            print(f"written: {name}")
    return 1 if options.check and stale else 0


def _json(text: str, **values: object) -> str:
    """A JSON object with some of its members replaced, written as npm writes it."""
    return json.dumps({**json.loads(text), **values}, indent=2, ensure_ascii=False) + "\n"


def _npm(directory: str, suffix: str) -> Callable[[str, Project], str]:
    def change(text: str, known: Project) -> str:
        return _json(
            text,
            version=known.version,
            description=known.description + suffix,
            license=known.license,
            homepage=f"{known.repository}/tree/main/{directory}#readme",
            repository={"type": "git", "url": f"git+{known.repository}.git", "directory": directory},
            bugs={"url": known.issues},
        )

    return change


def _extension(text: str, known: Project) -> str:
    """Beside what npm wants to know: what the settings do, of those that go to the daemon, and how it is packaged."""
    manifest = json.loads(_npm("vscode-extension", "")(text, known))
    # vsce makes addresses out of the README's links, and knows how to for these alone
    links = "" if known.host in _FORGES else " --no-rewrite-relative-links"
    manifest["scripts"]["package"] = f"vsce package --no-dependencies{links}"
    manifest["contributes"]["colors"] = [
        {
            "id": f"snapd.agent.{colour.name}",
            "description": f"Agents that snapd shows in {colour.name}.",
            "defaults": {
                "light": colour.light,
                "dark": colour.dark,
                "highContrast": colour.dark,
                "highContrastLight": colour.light,
            },
        }
        for colour in PALETTE
    ]
    offered = manifest["contributes"]["configuration"]["properties"]
    for row in SETTINGS.values():
        if (declared := offered.get(f"snapd.{row.json_name}")) is not None:
            declared["default"] = list(row.default) if isinstance(row.default, tuple) else row.default
            sentences = [row.doc, row.kind.expected, "it applies to every program that has the folder open in snapd"]
            declared["markdownDescription"] = " ".join(f"{each[0].upper()}{each[1:]}." for each in sentences)
    return _json(text, **manifest)


def _lock(*names: str) -> Callable[[str, Project], str]:
    """The version of our own packages in what npm locks; they are named as the lock names them."""

    def change(text: str, known: Project) -> str:
        lock = json.loads(text)
        for name in names:
            lock["packages"][name]["version"] = known.version
        return _json(text, **({"version": known.version} if "" in names else {}), packages=lock["packages"])

    return change


def _plugin(text: str, known: Project) -> str:
    return _json(
        text,
        name=known.name,
        version=known.version,
        description=known.description,
        license=known.license,
        homepage=known.repository,
        repository=known.repository,
    )


def _marketplace(text: str, known: Project) -> str:
    (plugin,) = json.loads(text)["plugins"]
    plugins = [{**plugin, "name": known.name, "description": known.description}]
    return _json(text, name=known.name, description=known.description, plugins=plugins)


def _server(text: str, known: Project) -> str:
    read = json.loads(text)
    read.pop("repository", None)
    forge = known.host.removesuffix(".com")
    source = {"repository": {"url": known.repository, "source": forge}} if known.host in _FORGES else {}
    packages = [{**each, "identifier": known.name, "version": known.version} for each in read["packages"]]
    known_as = {"name": known.server, "title": known.name, "description": known.description, "version": known.version}
    return _json(json.dumps(read), **known_as, websiteUrl=known.repository, **source, packages=packages)


def _feature(text: str, known: Project) -> str:
    return _json(
        text,
        id=known.name,
        name=known.name,
        version=known.version,
        description=known.description,
        documentationURL=known.file("devcontainer-feature/README.md"),
        licenseURL=known.file("LICENSE"),
    )


def _module(text: str, known: Project) -> str:
    return re.sub(r'(?m)^__version__ = ".*"$', f'__version__ = "{known.version}"', text)


def _readme(text: str, known: Project) -> str:
    """The mark by which the MCP registry knows whose package it is, and which agents the hooks are tested with."""
    text = re.sub(r"<!-- mcp-name: .* -->", f"<!-- mcp-name: {known.server} -->", text)
    tested, others = _titles(tested=True), _titles(tested=False)
    sentences = (
        f"The hooks are tested with the real {_listed(tested)}. Those for {_listed(others)} are written from their "
        "documentation."
    )
    return _between(text, "agents", textwrap.fill(sentences, 140))


def _start(text: str, _: Project) -> str:
    """What to type for each agent; those that no test has run share a row."""
    rows = [
        f"| {agent.title} | `snapd agent install {agent.name}` | {agent.still or _THEN[agent.style == 'plugin']} |"
        for agent in AGENTS.values()
        if agent.tested
    ]
    others = [f"`{agent.name}`" for agent in AGENTS.values() if not agent.tested]
    rows.append(
        f"| {', '.join(_titles(tested=False))} | `snapd agent install NAME`, where `NAME` is {_listed(others, 'or')} "
        "| restart it |"
    )
    rows.append("| any other command | `snapd run -- COMMAND` | nothing: snapd records what the command changes |")
    return _between(text, "agents", "\n".join(["| agent | what to type | what else to do |", "|---|---|---|", *rows]))


def _agents(text: str, _: Project) -> str:
    """Where each agent has its hooks, and what is known of it."""
    rows = ["| agent | your settings | tested with | learns of undos |", "|---|---|---|---|"]
    for agent in sorted(AGENTS.values(), key=lambda agent: not agent.tested):
        paths = [posixpath.join("~", agent.folder.usual, agent.folder.below, name) for name in agent.user]
        is_folder = len(paths) > 1 and len({*map(posixpath.dirname, paths)}) == 1
        place = f"{posixpath.dirname(paths[0])}/" if is_folder else paths[0]
        rows.append(f"| `{agent.name}` | `{place}` | {agent.tested or '-'} | {_learns(agent.name)} |")
    return _between(text, "agents", "\n".join(rows))


def _learns(name: str) -> str:
    """When an agent learns of undos: what the answers say to which of its events."""
    dialect = DIALECTS[name]
    meanings = {dialect.events[event] for event in dialect.reads_answer} if dialect.answer_format else set()
    if END in meanings:
        return "yes" if PROMPT in meanings else "after a call"
    return "with a prompt" if PROMPT in meanings else "no"


def _titles(*, tested: bool) -> list[str]:
    return [agent.title for agent in AGENTS.values() if bool(agent.tested) is tested]


def _listed(words: list[str], last: str = "and") -> str:
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def _between(text: str, mark: str, part: str) -> str:
    """A text with a part of it replaced: what is between two comments."""
    begin, end = f"<!-- {mark}: generated -->\n", f"\n<!-- end of {mark} -->"
    before, _, rest = text.partition(begin)
    return f"{before}{begin}{part}{end}{rest.partition(end)[2]}"


_THEN = {True: "restart it, so that it loads the plugin", False: "start a new session"}
_FILES: dict[str, Callable[[str, Project], str]] = {
    ".claude-plugin/marketplace.json": _marketplace,
    "README.md": _readme,
    "clients/claude-code/.claude-plugin/plugin.json": _plugin,
    "clients/opencode/package.json": _npm("clients/opencode", " (the plugin for OpenCode)"),
    "clients/typescript/package-lock.json": _lock(""),
    "clients/typescript/package.json": _npm("clients/typescript", " (the client for Node.js)"),
    "clients/web/package-lock.json": _lock("../typescript"),
    "devcontainer-feature/devcontainer-feature.json": _feature,
    "docs/agents.md": _agents,
    "docs/start.md": _start,
    "server.json": _server,
    "snapd/_version.py": _module,
    "vscode-extension/package-lock.json": _lock("", "../clients/typescript"),
    "vscode-extension/package.json": _extension,
}

if __name__ == "__main__":
    sys.exit(main())
