"""The scenarios, and that the suite judges an undo rightly: a perfect one, one that does nothing, one that wipes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import ClassVar

import pytest

from .__main__ import main
from .oracle import Entry, compare
from .play import NotDone, play
from .products.disk import GitStash, Idle, Perfect, Wipe
from .products.product import Gate, Product, Refused, wait_until
from .products.table import PRODUCTS
from .report import PUBLISHED, ROOT, only_others, outcome, published
from .scenario import Malformed, Scenario, Turn, Undo, load, path_bytes

SCENARIOS = load()
MOST_LINES = 2500
_REPORT = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+/(issues|pull)/\d+")


def test_there_are_enough() -> None:
    assert len(SCENARIOS) >= 40
    assert {scenario.name for scenario in SCENARIOS.values()} == set(SCENARIOS)


@pytest.mark.parametrize("name", SCENARIOS)
def test_each_stands_for_a_report(name: str) -> None:
    scenario = SCENARIOS[name]
    assert _REPORT.fullmatch(scenario.report)
    assert scenario.title
    turns = [act for act in scenario.acts if isinstance(act, Turn)]
    undone = [act.turn for act in scenario.acts if isinstance(act, Undo) and act.turn]
    assert turns
    assert set(undone) <= {turn.number for turn in turns}


def test_titles_are_unique() -> None:
    titles = [scenario.title for scenario in SCENARIOS.values()]
    assert len(set(titles)) == len(titles)


def test_the_runner_is_small() -> None:
    modules = Path(__file__).parent.rglob("*.py")
    assert sum(len(path.read_text().splitlines()) for path in modules if not path.stem.startswith("test_")) < MOST_LINES


def test_products_say_what_they_are() -> None:
    for name, product in PRODUCTS.items():
        assert product.name == name
        assert product.undo_with
        tags = {tag for scenario in SCENARIOS.values() for tag in scenario.tags}
        assert set(product.excluded) <= tags, name


def verdicts(product: type[Product], *names: str) -> dict[str, str]:
    return {name: play(SCENARIOS[name], product).verdict for name in names}


def test_a_perfect_undo_is_right() -> None:
    names = (
        "shell-sed",
        "edit-tool",
        "names",
        "name-not-utf8",
        "symlink-for-a-file",
        "mode",
        "back-to-a-turn",
        "staged",
    )
    assert verdicts(Perfect, *names) == dict.fromkeys(names, "right")


def test_only_what_the_undo_keeps_is_counted() -> None:
    assert play(SCENARIOS["edit-tool"], Idle).disk == 0
    # nothing was uncommitted before the turn
    assert play(SCENARIOS["edit-tool"], GitStash).disk == 0
    assert 0 < play(SCENARIOS["person-before"], GitStash).disk < 4096


def test_a_perfect_undo_without_git_and_in_a_subfolder_is_right() -> None:
    names = ("no-git", "subfolder", "killed", "mtimes", "git-untouched", "nested-repository")
    assert verdicts(Perfect, *names) == dict.fromkeys(names, "right")


def test_no_undo_is_wrong() -> None:
    names = ("shell-sed", "edit-tool", "mode", "empty-folder", "person-same-file")
    assert verdicts(Idle, *names) == dict.fromkeys(names, "wrong")
    assert play(SCENARIOS["mode"], Idle).why == "done.sh has mode 644; run.sh has mode 755"


def test_what_an_agent_destroyed_and_nothing_brings_back_is_lost() -> None:
    assert play(SCENARIOS["shell-delete"], Idle).why == "mine-draft: draft.md is missing"


def test_a_wiped_folder_is_lost() -> None:
    names = ("shell-sed", "edit-tool", "person-later-file", "agent-commits")
    assert verdicts(Wipe, *names) == dict.fromkeys(names, "lost")


def test_a_whole_copy_takes_the_work_of_the_person_along() -> None:
    names = ("person-same-file", "person-during", "person-later-file")
    assert verdicts(Perfect, *names) == dict.fromkeys(names, "lost")


def test_what_cannot_be_asked_for_is_not_offered() -> None:
    assert verdicts(GitStash, "middle-turn", "redo") == dict.fromkeys(("middle-turn", "redo"), "not offered")


class Refuses(Perfect):
    name = "refuses"

    def undo(self, undo: Undo) -> None:
        raise Refused("not today, says commit 0123456789abcdef in err_0deaac82")


class Liar(Perfect):
    """Says that it did nothing, and deletes a file."""

    name = "liar"

    def undo(self, undo: Undo) -> None:
        (self.place.project / "README.md").unlink()
        raise Refused("nothing was changed")


class Hangs(Perfect):
    name = "hangs"

    def undo(self, undo: Undo) -> None:
        wait_until(lambda: False, "the undo", 0.01)


class Lazy(Perfect):
    """Does no turn."""

    name = "lazy"

    def turn(self, turn: Turn, gate: Gate) -> None:
        """Does nothing."""


class Regrets(Wipe):
    """Wipes, and can redo."""

    name = "regrets"

    def redo(self, redo: object) -> None:
        self.place.person([("write", "notes.txt", "mine-seven\n")])


def test_a_refusal_has_its_words_without_what_changes() -> None:
    found = play(SCENARIOS["edit-tool"], Refuses)
    assert (found.verdict, found.why) == ("refused", "not today, says commit … in err_…")


def test_a_refusal_that_changes_something_is_wrong() -> None:
    found = play(SCENARIOS["edit-tool"], Liar)
    assert found.verdict == "wrong"
    assert "README.md is missing" in found.why
    assert found.why.endswith("says: nothing was changed")


def test_no_end_is_wrong() -> None:
    found = play(SCENARIOS["edit-tool"], Hangs)
    assert (found.verdict, found.why) == ("wrong", "no end in 60 s: the undo")


def test_nothing_is_said_of_an_agent_that_did_not_work() -> None:
    with pytest.raises(NotDone, match=r"turn 1: calc\.py has another text; new\.py is missing"):
        play(SCENARIOS["edit-tool"], Lazy)


def test_what_a_redo_brings_back_is_not_lost(tmp_path: Path) -> None:
    found = play(made(tmp_path, has_git=False, person='["write", "notes.txt", "mine-seven\\n"]'), Regrets)
    assert found.verdict == "wrong"
    assert found.why.endswith("its redo brings that back")


def test_a_page_that_excludes_it_is_named_where_it_is_not_right() -> None:
    class Excludes(Idle):
        excluded: ClassVar[dict[str, str]] = {"shell": "https://example.com/page"}

    assert play(SCENARIOS["shell-sed"], Excludes).excluded == "https://example.com/page"
    assert play(SCENARIOS["edit-tool"], Excludes).excluded == ""


def made(folder: Path, *, has_git: bool, person: str) -> Scenario:
    (folder / "one.toml").write_text(f"""
[one]
title = "one"
report = "https://github.com/a/b/issues/1"
has_git = {str(has_git).lower()}
acts = [
  {{ agent = [["write", "new.py", "x"]] }},
  {{ person = [{person}] }},
  {{ undo = "last" }},
  {{ expect = {{ "notes.txt" = "mine-seven\\n" }} }},
]
""")
    return load(folder)["one"]


@pytest.mark.parametrize(
    "acts",
    [
        '{ agent = [["fly", "high"]] }, { undo = "last" }, { expect = {} }',
        '{ agent = [["write", "one"]] }, { undo = "last" }, { expect = {} }',
        '{ agent = [["pause"]] }, { undo = "last" }, { expect = {} }',
        '{ agent = [["shell", "true"]] }, { undo = "first" }, { expect = {} }',
        '{ agent = [["shell", "true"]] }, { undo = "last" }',
        '{ agent = [["shell", "true"]], when = "now" }, { undo = "last" }, { expect = {} }',
    ],
)
def test_what_is_malformed_is_said(tmp_path: Path, acts: str) -> None:
    text = f'[one]\ntitle = "one"\nreport = "https://github.com/a/b/issues/1"\nacts = [ {acts} ]\n'
    (tmp_path / "one.toml").write_text(text)
    with pytest.raises(Malformed, match=r"^one: "):
        load(tmp_path)


def test_bytes_of_names() -> None:
    assert path_bytes(r"caf\xe9.txt") == b"caf\xe9.txt"
    assert path_bytes("ü") == "ü".encode()


def test_a_folder_that_stays_empty_is_told() -> None:
    folder, file = Entry("folder", b"", 0o755), Entry("file", b"x", 0o644)
    assert compare({b"a": folder}, {}, {}).problems == ("a is there",)
    assert compare({b"a": folder, b"a/b": file}, {}, {}).problems == ("a/b is there",)


def test_differences_in_git_are_named() -> None:
    found = compare({b".git": Entry("git", b"HEAD\0a\1refs\0b")}, {b".git": Entry("git", b"HEAD\0a\1refs\0c")}, {})
    assert found.problems == (".git: another refs",)


def test_the_command_writes_the_table_and_compares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tests.yardstick.__main__.leave_network", lambda: None)
    only = ["--only", "edit-tool", "no-git", "--product", "git-stash", "--jobs", "1", "--output", str(tmp_path)]
    monkeypatch.setattr("sys.argv", ["yardstick", *only])
    assert main() == 0
    table = (tmp_path / "table.md").read_text()
    assert "(`edit-tool`) | right |" in table
    assert "(`no-git`) | refused\\* |" in table
    before = tmp_path / "before.json"
    found = json.loads((tmp_path / "results.json").read_text())
    assert [each[2] for each in outcome(found)] == ["right", "refused"]
    found["results"][0]["verdict"] = "lost"
    before.write_text(json.dumps(found))
    monkeypatch.setattr("sys.argv", ["yardstick", *only, "--same-as", str(before)])
    assert main() == 1
    assert "NOT THE SAME git-stash edit-tool" in capsys.readouterr().out


def test_a_run_is_published(tmp_path: Path) -> None:
    def result(product: str, verdict: str, excluded: str = "") -> dict[str, str | float]:
        amounts = {"seconds": 0.5, "turn_seconds": 1.5, "disk": 2048}
        return {"scenario": "edit-tool", "product": product, "verdict": verdict, "why": "a", **amounts} | {
            "excluded": excluded
        }

    titles = {
        "git-stash": "git stash",
        "codex": "Codex",
        "snapd-claude": "snapd, Claude Code",
        "snapd-codex": "snapd, Codex",
    }
    run = {
        "date": "2026-01-02",
        "products": {name: {"title": title, "version": "1", "undo_with": "x"} for name, title in titles.items()},
        "results": [
            result("git-stash", "right"),
            result("codex", "not offered"),
            result("snapd-claude", "right"),
            result("snapd-codex", "lost", "docs/undo.md"),
        ],
    }
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "compare.md").write_text(
        "before\n<!-- measured -->\nold\n<!-- end of what was measured -->\nafter\n"
    )
    files = published(run, SCENARIOS, tmp_path)
    assert json.loads(files[PUBLISHED]) == run
    comparison = files[Path("docs/compare.md")]
    assert comparison.startswith("before\n<!-- measured -->\n")
    assert comparison.endswith("<!-- end of what was measured -->\nafter\n")
    assert "\nold\n" not in comparison
    assert "| git stash | 1 | x | 1 | 0 | 0 | 0 | 0 | 0 |" in comparison
    edit = SCENARIOS["edit-tool"]
    assert f"| [{edit.title}]({edit.report}) | right | right; **lost**\\* with Codex |" in comparison
    assert "- snapd-codex, `edit-tool`: lost ([excluded](undo.md)): a" in files[Path("docs/yardstick.md")]
    assert only_others(run) == ["edit-tool"]


def test_what_is_published_is_current() -> None:
    run = json.loads((ROOT / PUBLISHED).read_text())
    for name, text in published(run, SCENARIOS).items():
        assert (ROOT / name).read_text() == text, f"{name}: run python -m tests.yardstick.report {PUBLISHED}"
    assert {each["scenario"] for each in run["results"]} == set(SCENARIOS)
    assert {each["product"] for each in run["results"]} == set(PRODUCTS)
    assert f"plays {len(SCENARIOS)} such stories" in (ROOT / "docs" / "compare.md").read_text()


def test_where_others_are_better_is_said_first() -> None:
    run = json.loads((ROOT / PUBLISHED).read_text())
    sections = re.split(r"^## ", (ROOT / "docs" / "compare.md").read_text(), flags=re.MULTILINE)
    assert sections[1].startswith("Where others are better\n")
    assert [name for name in only_others(run) if f"`{name}`" not in sections[1]] == []


def test_a_disk_product_waits_for_the_person() -> None:
    assert play(SCENARIOS["person-during-command"], Idle).verdict == "wrong"
