"""Our snapd beside Debian's package of the same name, which is about snap packages: their names do not meet."""

from __future__ import annotations

import os
import re
import shutil
import zipfile
from pathlib import Path

from snapd.locations import Locations

from .machine import ROOT, Machine
from .test_wheel import WHEEL

_LIST = Path(__file__).parent / "debian-snapd.txt"
_OURS = re.compile(rb"\bSNAP[A-Z]*_[A-Z0-9_]+")


def _section(name: str) -> set[str]:
    """What the list has below a heading."""
    text = _LIST.read_text("utf-8").partition(f"\n# {name}\n")[2].partition("\n\n")[0]
    return set(text.split())


def test_no_file_is_in_both() -> None:
    theirs = _section("files")
    assert len(theirs) > 50
    programs = {name.rpartition("/")[2] for name in theirs if "/bin/" in name}
    assert programs == {"snap", "snapctl", "ubuntu-core-launcher"}
    with zipfile.ZipFile(WHEEL) as wheel:
        entry = wheel.read(next(name for name in wheel.namelist() if name.endswith("entry_points.txt"))).decode()
        ours = set(re.findall(r"^(\S+) = ", entry, re.MULTILINE))
        ours |= {name.rpartition("/")[2] for name in wheel.namelist() if "/scripts/" in name}
    assert ours == {"snapd", "snapd-python"}
    assert not programs & ours
    # wherever a prefix is: what pip and the executable install goes to these
    installed = {f"{prefix}/bin/{name}" for prefix in ("/usr", "/usr/local") for name in ours}
    installed |= {"/usr/local/lib/snapd", "/usr/local/share/snapd"}
    assert not {name for name in theirs for path in installed if name == path or name.startswith(f"{path}/")}


def test_no_directory_or_socket_is_both_ones() -> None:
    theirs = _section("made while it runs")
    for home, uid in (("/root", "0"), ("/home/ann", "1000")):
        for environment in ({}, {"XDG_RUNTIME_DIR": f"/run/user/{uid}"}, {"XDG_RUNTIME_DIR": "", "TMPDIR": "/var/tmp"}):
            places = Locations.from_environment({"HOME": home, **environment})
            ours = {places.config_file, places.socket, f"{places.data}/snapd", places.runtime}
            named = {path.replace("HOME", home).replace("UID", uid) for path in theirs}
            meet = {(a, b) for a in ours for b in named if a == b or a.startswith(f"{b}/") or b.startswith(f"{a}/")}
            assert not meet


def test_no_variable_is_read_by_both() -> None:
    theirs = _section("environment variables")
    assert "SNAPD_DEBUG" in theirs
    folders = ("snapd", "clients", "scripts", "vscode-extension/src", "devcontainer-feature")
    ours: set[str] = set()
    for folder in folders:
        for top, names, files in os.walk(ROOT / folder):
            names[:] = [name for name in names if name not in ("node_modules", "__pycache__", "page", "build", "dist")]
            for file in files:
                # this names theirs, to pass them over
                if not file.endswith((".md", ".png")) and not top.endswith("snapd/settings"):
                    ours |= {match.decode() for match in _OURS.findall(Path(top, file).read_bytes())}
    assert "SNAPD_RUNTIME_DIR" in ours
    assert not ours & theirs


def test_a_day_beside_it(machine: Machine) -> None:
    """With their variables set and their files there, ours work, and theirs are as before afterwards."""
    variables = dict.fromkeys(_section("environment variables"), "1")
    machine.env |= variables
    del machine.env["SNAPD_RUNTIME_DIR"]
    machine.env["XDG_RUNTIME_DIR"] = "/run/user/0"
    day = f"""
    /bin/mount -t tmpfs none /run; /bin/mount -t tmpfs none /var/lib
    mkdir -p /run/user/0 /run/snapd/ns /var/lib/snapd "$HOME/snap" "$HOME/.snap"
    for each in /run/snapd.socket /run/snapd-snap.socket /run/user/0/snapd-session-agent.socket \
        /run/snapd/ns/x.mnt /var/lib/snapd/state.json "$HOME/snap/x" "$HOME/.snap/auth.json"; do
        echo theirs > "$each"
    done
    before=$(ls -lR --full-time /run /var/lib/snapd "$HOME/snap" "$HOME/.snap" | grep ^-)
    snapd={machine.file}
    echo one > a.txt; $snapd track > tree; echo two > a.txt
    $snapd restore "$(cat tree)" --yes; $snapd agent install claude; $snapd uninstall --yes
    after=$(ls -lR --full-time /run /var/lib/snapd "$HOME/snap" "$HOME/.snap" | grep ^-)
    [ "$before" = "$after" ] || {{ echo "$before"; echo "$after"; exit 9; }}
    cat a.txt
    """
    grep = shutil.which("grep")
    assert grep is not None
    Path(machine.env["PATH"], "grep").symlink_to(grep)
    assert machine.run("sh", "-ec", day).endswith("one\n")
