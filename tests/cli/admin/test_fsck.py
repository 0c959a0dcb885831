"""`snapd fsck` and `snapd doctor` on real stores: what a person reads, what a program reads, and the exit codes."""

from __future__ import annotations

import os
from pathlib import Path

from tests.cli.conftest import FILES
from tests.cli.running import Home
from tests.store.fsck import damage
from tests.store.fsck.damage import blob_id, loose
from tests.support.git import run_git
from tests.support.published import until_published


def store_of(home: Home) -> Path:
    (store,) = Path(home.at("data/snapd/snapshot")).iterdir()
    return store


def two_snapshots(home: Home, name: str = "p") -> tuple[str, str, str]:
    root = home.project(name, FILES)
    first = home.track(root)
    Path(root, "README.md").write_bytes(b"another\n")
    second = home.track(root)
    until_published(store_of(home))
    return root, first, second


def test_a_store_that_is_whole(own_home: Home) -> None:
    root, *_ = two_snapshots(own_home)
    for how in ((), ("--repair",)):
        assert own_home.ok(root, "fsck", *how).startswith("ok ")
        answer = own_home.run(root, "fsck", "--json", *how).json
        assert (answer["problems"], answer["repaired"], answer["snapshots"]) == ([], [], 2)
        assert "quarantine" not in answer
    # in this process
    own_home.ok(root, "stop")
    assert own_home.ok(root, "fsck", "--no-daemon").startswith("ok ")


def test_what_the_folder_has_comes_back_and_the_rest_is_named(own_home: Home) -> None:
    root, first, second = two_snapshots(own_home)
    store = store_of(own_home)
    here, gone = blob_id(FILES["src/main.py"]), blob_id(FILES["README.md"])
    damage.flip(loose(store, here))
    damage.drop(loose(store, gone))
    result = own_home.run(root, "fsck")
    assert result.code == 1
    assert f"object {here.hex()} is damaged: it is in 1 file of 2 snapshots" in result.text
    assert "snapd fsck --repair" in result.text
    found = own_home.run(root, "fsck", "--json").json
    touched = {
        problem["subject"]: [(file["file"], sorted(file["snapshots"])) for file in problem["files"]]
        for problem in found["problems"]
    }
    assert touched == {
        here.hex(): [("src/main.py", sorted([first, second]))],
        gone.hex(): [("README.md", [first])],
    }
    assert found["brokenSnapshots"] == sorted([first, second])
    mended = own_home.run(root, "fsck", "--repair", "--json")
    assert mended.code == 3
    assert [problem["subject"] for problem in mended.json["problems"]] == [gone.hex()]
    assert [problem["subject"] for problem in mended.json["repaired"]] == [here.hex()]
    assert mended.json["brokenSnapshots"] == [first]
    assert os.listdir(mended.json["quarantine"])
    # the first stays listed, and answers with the object
    asked = own_home.run(root, "show", f"README.md@{first}")
    assert (asked.code, gone.hex() in asked.err) == (1, True)
    assert own_home.ok(root, "show", f"src/main.py@{first}").encode() == FILES["src/main.py"]
    # where it comes back to the folder, it comes back to the store
    Path(root, "README.md").write_bytes(FILES["README.md"])
    assert own_home.run(root, "fsck", "--repair").code == 0
    assert own_home.ok(root, "show", f"README.md@{first}").encode() == FILES["README.md"]
    assert own_home.run(root, "fsck").code == 0


def test_what_the_projects_git_has_comes_back(own_home: Home) -> None:
    root = own_home.project("p", FILES)
    run_git(root, "init", "-q")
    run_git(root, "add", "-A")
    run_git(root, "commit", "-qm", "one")
    Path(root, "README.md").write_bytes(b"not committed\n")
    first = own_home.track(root)
    own_home.ok(root, "stop")
    git = damage.everything(Path(root, ".git"))
    store = store_of(own_home)
    lost = blob_id(FILES["src/main.py"])
    Path(root, "src/main.py").write_bytes(b"changed since\n")
    for path in (loose(store, lost), *store.glob("objects/pack/*")):
        if path.exists():
            path.unlink()
    assert own_home.run(root, "fsck").code == 1
    mended = own_home.run(root, "fsck", "--repair", "--json")
    assert (mended.code, mended.json["problems"]) == (0, [])
    assert own_home.ok(root, "show", f"src/main.py@{first}").encode() == FILES["src/main.py"]
    assert own_home.ok(root, "show", f"README.md@{first}") == "not committed\n"
    assert damage.everything(Path(root, ".git")) == git


def test_a_store_that_cannot_be_opened(own_home: Home) -> None:
    root, first, second = two_snapshots(own_home)
    own_home.ok(root, "stop")
    store = store_of(own_home)
    (day,) = (store / "refs/snapd/snapshots").iterdir()
    damage.cut(day)
    damage.flip(loose(store, blob_id(FILES["src/main.py"])))
    assert own_home.run(root, "status").code == 1
    found = own_home.run(root, "fsck", "--json")
    assert found.code == 1
    assert {problem["kind"] for problem in found.json["problems"]} >= {"damagedReference"}
    quick = own_home.run(root, "doctor", "--json")
    checks = {check["check"]: check for check in quick.json["checks"]}
    assert (quick.code, checks["store"]["ok"]) == (1, False)
    assert "snapd fsck" in checks["store"]["hint"]
    mended = own_home.run(root, "fsck", "--repair", "--json")
    assert (mended.code, mended.json["problems"]) == (0, [])
    for tree in (first, second):
        assert own_home.ok(root, "show", f"src/main.py@{tree}").encode() == FILES["src/main.py"]
    assert own_home.run(root, "doctor").code == 0


def test_all_stores(own_home: Home) -> None:
    root, *_ = two_snapshots(own_home)
    gone = own_home.project("q", FILES)
    own_home.track(gone)
    own_home.ok(root, "stop")
    os.rename(gone, own_home.at("moved"))
    answers = own_home.run(own_home.path, "fsck", "--all", "--json")
    assert (answers.code, answers.err) == (0, "")
    assert [answer["problems"] for answer in answers.json["stores"]] == [[], []]
    for store in Path(own_home.at("data/snapd/snapshot")).iterdir():
        damage.drop(loose(store, blob_id(FILES["src/data.bin"])))
    answers = own_home.run(own_home.path, "fsck", "--all", "--repair", "--json")
    left = sorted(len(answer["problems"]) for answer in answers.json["stores"])
    # the folder that is there gives its file back
    assert (answers.code, left) == (3, [0, 1])


def test_a_store_that_another_process_has_open(own_home: Home) -> None:
    root, *_ = two_snapshots(own_home)
    # the daemon has it
    result = own_home.run(root, "fsck", "--no-daemon")
    assert result.code == 1
    assert f"another process owns the store {store_of(own_home)}" in result.err


def test_doctor_tells_of_what_is_open_to_others(own_home: Home) -> None:
    root, *_ = two_snapshots(own_home)
    os.chmod(own_home.at("data/snapd"), 0o777)
    os.chmod(store_of(own_home), 0o755)
    Path(root, f".snapd-tmp-{'0' * 16}").write_bytes(b"half")
    checks = {check["check"]: check for check in own_home.run(root, "doctor", "--json").json["checks"]}
    failed = {name: check["found"] for name, check in checks.items() if not check["ok"]}
    assert failed.keys() >= {"data", "leftovers", "store"}
    assert "can be written to by others" in failed["data"]
    assert "is open to others (mode 755)" in failed["store"]
    assert f".snapd-tmp-{'0' * 16}" in failed["leftovers"]


def test_doctor_reads_the_newest_events_and_no_objects(own_home: Home) -> None:
    root, *_ = two_snapshots(own_home)
    own_home.ok(root, "stop")
    store = store_of(own_home)
    damage.flip(loose(store, blob_id(FILES["src/main.py"])))
    assert own_home.run(root, "doctor").code == 0
    (day,) = (store / "refs/snapd/snapshots").iterdir()
    damage.flip(loose(store, bytes.fromhex(day.read_text().strip())))
    answer = own_home.run(root, "doctor", "--json").json
    (found,) = [check["found"] for check in answer["checks"] if check["check"] == "store"]
    assert f"the record {day.read_text().strip()} of a snapshot on {day.name} is damaged" in found
