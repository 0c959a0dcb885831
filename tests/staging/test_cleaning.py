"""What git makes of the bytes of a file on their way into the index; `git add` says what is right."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import pytest

from snapd.staging.repository import GitFailed
from tests.staging.project import Project, reasons
from tests.support.amounts import amount

LF = b"one\ntwo\nthree\nfour\nfive\n"
CRLF = LF.replace(b"\n", b"\r\n")
MIXED = b"one\r\ntwo\nthree\r\nfour\nfive\n"
TEXTS = {"lf": LF, "crlf": CRLF, "mixed": MIXED, "lone": b"one\rtwo\r\nthree\n", "binary": b"\0\r\n" + CRLF}


@pytest.mark.parametrize("autocrlf", ["true", "false", "input"][: amount(1, 3)])
@pytest.mark.parametrize(
    "attributes",
    ["", "* text=auto", "* text", "* -text", "* text eol=crlf", "* text=auto eol=lf", "* eol=lf", "* crlf=input"],
)
def test_line_ends(tmp_path: Path, autocrlf: str, attributes: str) -> None:
    """Each text becomes each other one, with the first of them in the index as it is, or converted."""
    pairs = list(itertools.product(TEXTS, TEXTS))
    files = {f"{old}-{new}": TEXTS[old] for old, new in pairs}
    project = Project.made(tmp_path, files)
    project.bench.write({".gitattributes": attributes.encode() + b"\n"})
    project.bench.write({f"{name}.norm": data for name, data in files.items()})
    project.git("config", "core.autocrlf", autocrlf)
    project.git("add", ".gitattributes", *(f"{name}.norm" for name in files))
    project.commit()
    changed = {f"{old}-{new}{end}": TEXTS[new] + b"six\n" for old, new in pairs for end in ("", ".norm")}
    project.work("A", {**changed, **{f"{name}.new": data for name, data in TEXTS.items()}})
    plan = project.stage(["A"])
    found = project.listed()
    project.unstage()
    project.git("add", "--all")
    expected = project.listed()
    wrong = {name for name in expected if found[name] != expected[name]} if not plan.conflicts else set()
    assert wrong == set()
    # where the index has line ends that the attributes do not allow, git would change all lines: not what A did
    for name in reasons(plan):
        assert attributes not in ("", "* -text"), name
        assert not name.endswith((".norm", ".new")), name


def test_an_edit_of_one_line_among_those_of_others(tmp_path: Path) -> None:
    project = Project.made(tmp_path, {".gitattributes": b"*.txt text\n*.keep text=auto\n", "a.txt": CRLF})
    kept = project.git("hash-object", "-w", "--stdin", data=CRLF).decode().strip()
    project.git("update-index", "--add", "--cacheinfo", "100644", kept, "b.keep")
    project.commit()
    project.bench.write({"a.txt": CRLF.replace(b"one", b"user"), "b.keep": CRLF.replace(b"one", b"user")})
    changed = CRLF.replace(b"one", b"user").replace(b"five", b"A")
    project.work("A", {"a.txt": changed, "b.keep": changed})
    assert project.stage(["A"]).conflicts == {}
    texts = project.texts()
    assert (texts["a.txt"], texts["b.keep"]) == (LF.replace(b"five", b"A"), CRLF.replace(b"five", b"A"))
    # a file that keeps its line ends does so under its new name
    project.commit()
    project.step("A", lambda: Path(project.bench.path("b.keep")).rename(project.bench.path("c.keep")))
    assert project.stage(["A"]).conflicts == {}
    assert project.texts()["c.keep"] == CRLF.replace(b"five", b"A")


FILTER = """
import sys
data = sys.stdin.buffer.read()
sys.stdout.buffer.write(data.lower() if sys.argv[1] == "clean" else data.upper())
"""


ATTRIBUTES = b"""\
*.up filter=up
*.lfs filter=up merge=lfs -text
*.utf16 text working-tree-encoding=UTF-16LE
*.id ident
"""


def filtered(tmp_path: Path, required: str = "true") -> Project:
    script = tmp_path / "filter.py"
    script.write_text(FILTER)
    command = f"{sys.executable} {script}"
    project = Project.made(tmp_path / "p", {".gitattributes": ATTRIBUTES})
    project.git("config", "filter.up.clean", f"{command} clean")
    project.git("config", "filter.up.smudge", f"{command} smudge")
    project.git("config", "filter.up.required", required)
    return project


def test_filters_encodings_and_keywords(tmp_path: Path) -> None:
    project = filtered(tmp_path)
    words = [b"one", b"two", b"three", b"four", b"five"]

    def files(*lines: bytes) -> dict[str, bytes]:
        text = b"".join(line + b"\n" for line in lines)
        return {
            "a.up": text.upper(),
            "a.utf16": text.decode().encode("utf-16-le"),
            "a.id": b"$Id: " + b"0" * 40 + b" $\n" + text,
        }

    project.bench.write(files(*words))
    project.commit("--all-files")
    project.bench.write(files(b"user", *words[1:]))
    project.work("A", {**files(b"user", *words[1:4], b"agent"), "new.up": b"NEW\n"})
    objects = project.git("count-objects").split()[0]
    assert project.stage(["A"]).conflicts == {}
    text = b"one\ntwo\nthree\nfour\nagent\n"
    assert {name: data for name, data in project.texts().items() if name != ".gitattributes"} == {
        "a.up": text,
        "a.utf16": text,
        "a.id": b"$Id$\n" + text,
        "new.up": b"new\n",
    }
    # three files have the same text, and what was between is no object of the repository
    assert int(project.git("count-objects").split()[0]) == int(objects) + 3
    project.unstage()


def test_a_filter_that_fails(tmp_path: Path) -> None:
    project = filtered(tmp_path)
    project.work("A", {"a.up": b"A\n", "b.txt": b"b\n"})
    project.git("config", "filter.up.clean", "false")
    before = project.index()
    with pytest.raises(GitFailed, match="git hash-object: external filter 'false' failed"):
        project.stage(["A"])
    assert project.index() == before


def test_a_file_that_git_merges_in_another_way_is_one_piece(tmp_path: Path) -> None:
    project = filtered(tmp_path)
    project.bench.write({"a.lfs": b"1\n2\n3\n4\n5\n"})
    project.commit("--all-files")
    project.work("A", {"a.lfs": b"A\n2\n3\n4\n5\n"})
    assert project.stage(["A"]).conflicts == {}
    assert project.texts()["a.lfs"] == b"a\n2\n3\n4\n5\n"
    project.unstage()
    project.bench.write({"a.lfs": b"1\n2\n3\n4\nuser\n"})
    project.git("add", "a.lfs")
    project.bench.write({"a.lfs": b"A\n2\n3\n4\n5\n"})
    assert reasons(project.stage(["A"])) == {"a.lfs": "changedSince"}


def test_attributes_that_only_the_index_has(tmp_path: Path) -> None:
    project = Project.made(tmp_path, {"sub/.gitattributes": b"* text\n", "sub/a.txt": b"1\r\n", "b.txt": b"b\n"})
    project.bench.remove("sub/.gitattributes")
    project.work("A", {"sub/a.txt": b"2\r\n", "b.txt": b"A\n"})
    assert reasons(project.stage(["A"])) == {"sub/a.txt": "attributes"}
    project.git("restore", "sub/.gitattributes")
    assert project.stage(["A"]).conflicts == {}
    assert project.texts()["sub/a.txt"] == b"2\n"
