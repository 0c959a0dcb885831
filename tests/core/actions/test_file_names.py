"""Names of files in requests: relative to a directory, through links, by URI; the kernel is the oracle."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from snapd.handlers import HANDLERS, Context
from snapd.model.call import Call
from snapd.model.errors import InvalidParams
from snapd.wire.converter import structure, unstructure
from snapd.wire.methods import METHODS
from tests.support.workspace import Bench, Items, Symlink, make

FILES: Items = {
    "AGENTS.md": b"rules\n",
    "CLAUDE.md": Symlink(b"AGENTS.md"),
    "c.py": b"root\n",
    "links/lib": Symlink(b"../packages/lib"),
    "packages/lib/i.js": b"one\n",
    "pkg/c.py": b"a\n",
    "twice": Symlink(b"links/lib/i.js"),
    "away": Symlink(b"/"),
    "round": Symlink(b"round"),
}


class Asking:
    """A client of a workspace, in this process, whose folder may be reached by another path."""

    def __init__(self, bench: Bench, folder: str | None = None) -> None:
        self.bench = bench
        self.folder = folder or str(bench.root)

    def __call__(self, method: str, **params: Any) -> Any:
        roots = (self.bench.workspace.root, os.fsencode(self.folder))
        context = Context(self.bench.workspace, roots, self.bench, Call())
        return unstructure(HANDLERS[method](context, structure(params, METHODS[method].params)))

    def step(self, text: dict[str, str], files: list[str] | None, **more: Any) -> Any:
        """A step that writes files, while the user writes `mine`; gives what its end answers."""
        self("session/start", sessionId="S", agent="claude")
        step = self("step/begin", sessionId="S")["stepId"]
        for name, line in {**text, "mine": "by the user"}.items():
            with open(os.path.join(self.folder, name), "a", encoding="utf-8") as file:
                file.write(f"{line}\n")
        return self("step/end", stepId=step, **({} if files is None else {"files": files}), **more)

    def own(self, text: dict[str, str], files: list[str], **more: Any) -> list[str]:
        """The files that such a step owns."""
        return [row["file"] for row in self.step(text, files, **more)["files"]]


@pytest.fixture
def ask(tmp_path: Path) -> Asking:
    return Asking(make(tmp_path, FILES))


@pytest.mark.parametrize("is_uri", [False, True])
@pytest.mark.parametrize(
    ("directory", "name"),
    [
        (None, "pkg/c.py"),
        ("pkg", "c.py"),
        ("pkg", "./../pkg//c.py"),
        (None, "CLAUDE.md"),
        ("pkg", "../CLAUDE.md"),
        (None, "links/lib/i.js"),
        ("links/lib", "i.js"),
        (None, "twice"),
        ("links/lib", "../i.js"),
        (None, "packages/lib"),
        (None, "links/lib"),
        (None, "away{root}/c.py"),
    ],
)
def test_a_step_owns_what_a_name_leads_to(ask: Asking, directory: str | None, name: str, *, is_uri: bool) -> None:
    root = ask.folder
    name = name.format(root=root)
    base = os.path.join(root, directory or "")
    full = os.path.join(base, name)
    # as the kernel finds it; `..` above a link may mean either folder
    real = os.path.relpath(os.path.realpath(full), root)
    wrote = os.path.join(real, "i.js") if os.path.isdir(full) else real
    given = f"file://{quote(full)}" if is_uri else name
    assert ask.own({wrote: "the agent"}, [given], directory=base) == [wrote]


def test_names_outside_are_listed_and_cost_nothing(ask: Asking) -> None:
    outside = ["/etc/hosts", "../x", "pkg/../../x", "away/etc/hosts", ".git/config", ".", "file:///etc/hosts"]
    strange = ["", "a\0b", "\ud800", "file://other/x", "round/x/../../..", "x" * 300 + "/../../y"]
    ended = ask.step({"c.py": "the agent"}, [*outside, "c.py", *strange])
    assert [row["file"] for row in ended["files"]] == ["c.py"]
    assert set(outside) <= set(ended["outside"]) <= {*outside, *strange}
    assert "outside" not in ask.step({"c.py": "once more"}, ["c.py", "round", "new/one", "y" * 5000])
    with pytest.raises(InvalidParams):
        ask.step({}, ["c.py"], directory="")


def test_a_file_is_owned_by_all_its_names(ask: Asking) -> None:
    os.link(ask.bench.path("c.py"), ask.bench.path("pkg/same.py"))
    os.link(ask.bench.path("c.py"), ask.bench.path("other"))
    assert ask.own({"other": "the agent"}, ["c.py"]) == ["c.py", "other", "pkg/same.py"]
    os.unlink(ask.bench.path("c.py"))
    assert ask.own({"other": "the agent"}, ["pkg/same.py"]) == ["other", "pkg/same.py"]


def test_a_link_that_is_replaced_or_deleted_is_owned(ask: Asking) -> None:
    os.unlink(ask.bench.path("CLAUDE.md"))
    assert ask.own({"CLAUDE.md": "a file"}, ["CLAUDE.md"]) == ["CLAUDE.md"]
    assert ask.own({}, []) == []


def test_a_folder_that_is_reached_by_a_link(ask: Asking, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(ask.folder)
    inner = tmp_path / "inner"
    inner.symlink_to(os.path.join(ask.folder, "pkg"))
    assert ask.own({"c.py": "the agent"}, [f"{link}/c.py"]) == ["c.py"]
    # the daemon found the root of this folder, which is not the folder itself
    through = Asking(ask.bench, str(inner))
    for client, name, there in ((through, f"{inner}/c.py", "pkg/c.py"), (ask, f"{link}/pkg/c.py", "pkg/c.py")):
        assert client.own({"c.py": "x"} if client is through else {there: "y"}, [name])[:1] == [there]
        assert client("session/history", files=[name])["entries"][0]["files"][0]["file"] == there
        assert client("snapshot/blame", file=name)["lines"][-1]["author"] == "step"


@pytest.mark.parametrize("name", ["CLAUDE.md", "AGENTS.md", "{link}/CLAUDE.md"])
def test_requests_take_either_name(ask: Asking, tmp_path: Path, name: str) -> None:
    link = tmp_path / "link"
    link.symlink_to(ask.folder)
    name = name.format(link=link)
    before = ask("snapshot/track")["hash"]
    step = ask.step({"AGENTS.md": "the agent"}, ["AGENTS.md"])["stepId"]
    assert ask("snapshot/blame", file=name)["lines"][-1]["stepId"] == step
    assert [entry["kind"] for entry in ask("session/history", files=[name])["entries"]] == ["step"]
    assert "+the agent" in ask("step/diff", stepId=step, files=[name])["diff"]
    assert "+the agent" in ask("snapshot/diff", hash=before, files=[name])["diff"]
    assert ask("step/hunks", stepId=step, file=name)["hunks"]
    assert ask("review/file", file=name)["file"] == "AGENTS.md"
    assert ask("review/revert", files=[name], dryRun=True)["files"][0]["file"] == "AGENTS.md"
    assert ask("step/revertHunks", stepId=step, file=name, hunks=[0])["files"][0]["file"] == "AGENTS.md"
    assert ask("session/undo")["files"][0]["file"] == "AGENTS.md"
    assert ask("step/revertFiles", stepId=step, files=[name])["files"][0]["file"] == "AGENTS.md"
    assert ask("review/list")["files"] == []
    again = ask.step({"AGENTS.md": "the agent"}, ["AGENTS.md"])["stepId"]
    assert ask("review/keep", files=[name], expect={})["files"] == []
    assert ask("step/revertFiles", stepId=again, files=[name], dryRun=True)["files"][0]["file"] == "AGENTS.md"


def test_a_file_of_a_snapshot_by_a_path_that_leads_through_a_link_now(ask: Asking) -> None:
    then = ask("snapshot/track")["hash"]
    path = os.path.join(ask.folder, "links/lib/i.js")
    assert ask("snapshot/fileAt", hash=then, file=path)["file"] == "packages/lib/i.js"
    assert ask("snapshot/fileAt", hash=then, file="CLAUDE.md")["content"] == "AGENTS.md"
    with open(path, "w", encoding="utf-8") as file:
        file.write("two\n")
    assert [row["file"] for row in ask("snapshot/revert", patches=[{"hash": then, "files": [path]}])["files"]] == [
        "packages/lib/i.js"
    ]
    # where the snapshot has the very path, that is meant, whatever is there now
    ask.bench.become({"links/lib/i.js": b"a folder\n"})
    folder = ask("snapshot/track")["hash"]
    ask.bench.become(FILES)
    assert ask("snapshot/fileAt", hash=folder, file=path)["content"] == "a folder\n"
    assert ask("snapshot/fileExists", hash=then, file="links/lib/gone.js")["exists"] is False
