"""The packages for npm: looked at by the usual tools, and used in an empty project that has no network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import snapd

from .machine import DIST, FILE, ROOT, alone

CLIENT = DIST / f"snapd-client-{snapd.__version__}.tgz"
PLUGIN = DIST / f"snapd-opencode-{snapd.__version__}.tgz"
TYPESCRIPT = ROOT / "clients/typescript"
WITH_NODE = str(ROOT / "scripts/with-node")
TOOLS = ROOT / "tests/release/node/node_modules/.bin"
_TYPED = """
import { SnapdClient, type FileOutcome } from "@snapd/client";

export async function undo(client: SnapdClient, sessionId: string): Promise<FileOutcome[]> {
  const { files } = await client.request("session/undo", { sessionId });
  return [...files];
}
// @ts-expect-error: there is no such method
export const wrong = (client: SnapdClient): unknown => client.request("session/nothing", {});
"""
_USED = """
const client = await SnapdClient.connect({ transport: { command: process.argv[1], args: ["serve", "--stdio"] },
  clientInfo: { name: "test" }, folders: [require("node:url").pathToFileURL(process.cwd()).href] });
const { sessionId } = await client.request("session/start", { agent: "test" });
const { stepId } = await client.request("step/begin", { sessionId, tool: "Write" });
require("node:fs").writeFileSync("hello.txt", "hello");
await client.request("step/end", { stepId });
const { files } = await client.request("session/undo", { sessionId });
console.log(JSON.stringify(files.map(({ file, outcome }) => [file, outcome])));
await client.close();
"""


def run(*command: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    """What a command prints, with Node.js 20 or newer."""
    done = subprocess.run([WITH_NODE, *command], cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


@pytest.mark.parametrize("pack", [CLIENT, PLUGIN], ids=["client", "opencode"])
def test_publint_finds_nothing(pack: Path, tmp_path: Path) -> None:
    assert "All good!" in run(TOOLS / "publint", "run", pack, "--strict", cwd=tmp_path)


def test_the_types_are_right(tmp_path: Path) -> None:
    said = run(TOOLS / "attw", CLIENT, "--no-color", "--format", "json", cwd=tmp_path)
    analysis = json.loads(said)["analysis"]
    assert analysis["types"] == {"kind": "included"}
    assert analysis["problems"] == []


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty project that has installed both packages, with a network of loopback alone."""
    folder = tmp_path_factory.mktemp("npm")
    (folder / "package.json").write_text('{"private": true}')
    # its only dependency, as npm gave it to us
    needed = TYPESCRIPT / "node_modules/vscode-jsonrpc"
    run("npm", "pack", "--ignore-scripts", "--silent", "--pack-destination", folder, needed, cwd=folder)
    (jsonrpc,) = folder.glob("vscode-jsonrpc-*.tgz")
    install = ["npm", "install", "--offline", "--no-audit", "--no-fund", "--loglevel=error", "--cache", folder / "npm"]
    subprocess.run([*alone(), WITH_NODE, *map(str, install), jsonrpc, CLIENT, PLUGIN], cwd=folder, check=True)
    assert sorted(path.name for path in (folder / "node_modules").iterdir() if path.name[0] != ".") == [
        "@snapd",
        "vscode-jsonrpc",
    ]
    return folder


@pytest.mark.parametrize("kind", ["module", "commonjs"])
def test_a_program_undoes_its_step(project: Path, tmp_path: Path, kind: str) -> None:
    load = {
        "module": 'import { SnapdClient } from "@snapd/client"; import { createRequire } from "node:module";'
        "const require = createRequire(import.meta.url);" + _USED,
        "commonjs": 'const { SnapdClient } = require("@snapd/client"); void (async () => {' + _USED + "})();",
    }
    work = project / kind
    work.mkdir()
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "SNAPD_RUNTIME_DIR": str(tmp_path / "run")}
    said = run("node", f"--input-type={kind}", "-e", load[kind], FILE, cwd=work, env=env)
    assert json.loads(said) == [["hello.txt", "deleted"]]
    assert not (work / "hello.txt").exists()


def test_typescript_knows_the_types(project: Path) -> None:
    """From a module and from CommonJS, whose types are other files."""
    files = ["typed.mts", "typed.cts"]
    for name in files:
        (project / name).write_text(_TYPED)
    kind = ["--module", "nodenext", "--target", "es2022"]
    types = ["--types", "node", "--typeRoots", TYPESCRIPT / "node_modules/@types"]
    run(TYPESCRIPT / "node_modules/.bin/tsc", "--noEmit", "--strict", *kind, *types, *files, cwd=project)


def test_the_plugin_can_be_imported(project: Path) -> None:
    show = 'import("@snapd/opencode/server").then((m) => console.log(Object.keys(m).join()))'
    assert run("node", "-e", show, cwd=project) == "SnapdPlugin\n"
    assert (project / "node_modules/@snapd/opencode/LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert shutil.which("snapd", path=str(project / "node_modules/.bin")) is None, "the program is not in the package"
