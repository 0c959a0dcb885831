"""A repository in a folder that has a history of its own: neither history says "you" of what the other one knows."""

from __future__ import annotations

from tests.cli.running import Home
from tests.support.git import run_git


def test_an_agent_in_a_nested_repository_is_not_you(home: Home) -> None:
    outer = home.project("outer", {"a.txt": b"a\n", "fe/x.txt": b"x\n", "plain/y.txt": b"y\n"})
    for folder in (outer, f"{outer}/fe"):
        run_git(folder, "init", "-q")
        home.run(folder, "track")
    home.run(outer, "run", "--", "true")

    def write(name: str) -> None:
        with open(f"{outer}/{name}", "a", encoding="utf-8") as file:
            file.write("more\n")

    write("plain/y.txt")
    home.run(outer, "run", "--", "true")
    home.run(f"{outer}/fe", "run", "--", "sh", "-c", "echo agent >> x.txt")
    home.run(outer, "run", "--", "true")
    users = [entry for entry in home.run(outer, "log", "--json").json["entries"] if entry["kind"] == "user"]
    found = {file["file"]: entry.get("unknown", False) for entry in users for file in entry["files"]}
    assert found == {"fe/x.txt": True, "plain/y.txt": False}

    def authors(folder: str, name: str) -> list[str]:
        return [run["author"] for run in home.run(folder, "blame", name, "--json").json["lines"]]

    assert authors(outer, "fe/x.txt") == ["before", "unknown"]
    assert authors(outer, "plain/y.txt") == ["before", "user"]
    assert authors(f"{outer}/fe", "x.txt") == ["before", "step"]
    # an undo that meets what the inner agent wrote does not say that it was the user
    session = home.run(outer, "sessions", "--json").json["sessions"][-1]["sessionId"]
    step = home.ok(outer, "step", "begin", "--session", session).strip()
    write("fe/x.txt")
    home.ok(outer, "step", "end", step)
    home.run(f"{outer}/fe", "run", "--", "sh", "-c", "echo again >> x.txt; sed -i s/more/less/ x.txt")
    told = home.run(outer, "undo", step, "--dry-run", "--json").json["details"]["contested"]
    assert [(row["file"], [by["author"] for by in row["by"]]) for row in told] == [("fe/x.txt", ["unknown"])]
    said = home.run(outer, "undo", step, "--dry-run")
    assert "by someone" in said.text
    assert "you" not in said.text.replace("your", "")
    for folder, other in ((outer, "/fe has snapshots"), (f"{outer}/fe", "/outer has snapshots")):
        assert other in home.ok(folder, "status")
