"""What people and agents do to files."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from random import Random

import attrs

from .disk import State, captured

LINES = 40


def text(dice: Random, lines: int = LINES) -> bytes:
    return b"".join(b"line %d %08x\n" % (number, dice.getrandbits(32)) for number in range(lines))


def edited(data: bytes, dice: Random) -> bytes:
    """A text in which a few lines near each other are others, or more, or fewer; of binary data, another."""
    if b"\0" in data:
        return b"\0" + dice.randbytes(dice.randint(10, 3000))
    lines = data.splitlines(keepends=True)
    at = dice.randint(0, len(lines))
    lines[at : at + dice.randint(0, 3)] = [b"edit %08x\n" % dice.getrandbits(32) for _ in range(dice.randint(1, 3))]
    return b"".join(lines[: 3 * LINES])


def put(folder: str, name: str, data: bytes, aside: str) -> None:
    """Writes a file as editors do: aside, then moved to its name; directories above are made as often as needed."""
    path = os.path.join(folder, name)
    new = os.path.join(aside, secrets.token_hex(8))
    with open(new, "wb") as file:
        file.write(data)
    while True:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        # an undo may remove the directory, now that it is empty
        with contextlib.suppress(FileNotFoundError):
            os.replace(new, path)
            return


def overwrite(folder: str, name: str, data: bytes) -> None:
    """Writes into a file that stays the same one."""
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)


@attrs.define
class User:
    """Somebody who edits a folder directly, while nothing else is under way in it."""

    _folder: str
    _outside: str
    _made: int = 0

    def edit(self, dice: Random, files: State, avoid: frozenset[str]) -> str:
        """Does something to one of the files below `src` and `user`, and says what."""
        own = sorted(
            name
            for name in captured(files)
            if name.startswith(("src/", "user/")) and name not in avoid and not name.startswith("src/doc/")
        )
        plain = [name for name in own if files[name][0] in ("100644", "100755")]
        kinds = ["create", "create", "binary", "symlink", "empty", "occupy"]
        if len(own) > 60:
            kinds = ["delete", "delete", "rmtree"]
        if plain:
            kinds += ["modify"] * 6 + ["rename", "delete", "chmod", "rmtree", "move directory", "copy"]
        kind = dice.choice(kinds)
        name = self._do(kind, dice, own, plain)
        return f"{kind} {name}"

    def _do(self, kind: str, dice: Random, own: list[str], plain: list[str]) -> str:
        folder = self._folder
        if kind in ("create", "binary", "symlink", "empty", "occupy"):
            return self._make(kind, dice, own)
        name = dice.choice(plain or own)
        path = os.path.join(folder, name)
        if kind == "modify":
            with open(path, "rb") as file:
                data = file.read()
            overwrite(folder, name, edited(data, dice))
        elif kind == "chmod":
            os.chmod(path, dice.choice([0o644, 0o755, 0o600]))
        elif kind == "delete":
            os.unlink(path)
        elif kind == "copy":
            shutil.copy2(path, os.path.join(folder, self._new(dice)))
        elif kind == "rename":
            os.rename(path, os.path.join(folder, self._new(dice)))
        else:
            above = os.path.dirname(name)
            if above in ("src", "user", "src/racy", "src/doc"):
                return "nothing"
            target = os.path.join(folder, above)
            if kind == "rmtree":
                shutil.rmtree(target)
            else:
                new = self._new(dice)
                if new.startswith(f"{above}/"):
                    return "nothing"
                os.rename(target, os.path.join(folder, new))
            return above
        return name

    def _make(self, kind: str, dice: Random, own: list[str]) -> str:
        name = self._new(dice)
        path = os.path.join(self._folder, name)
        if kind == "create":
            overwrite(self._folder, name, text(dice))
        elif kind == "binary":
            overwrite(self._folder, name, b"\0" + dice.randbytes(dice.randint(1, 20_000)))
        elif kind == "symlink":
            target = dice.choice(["../src/base0.txt", self._outside, f"{self._outside}/theirs.txt", "nowhere"])
            os.symlink(target, path)
        elif kind == "empty":
            os.mkdir(path)
        else:
            # a directory where a file was, or a file where a directory was
            spare = [other for other in own if other.startswith("user/") and other.count("/") > 1] or [name]
            above = os.path.join(self._folder, os.path.dirname(dice.choice(spare)))
            if not os.path.samefile(above, os.path.join(self._folder, "user")):
                shutil.rmtree(above)
                with open(above, "wb") as file:
                    file.write(text(dice, 3))
        return name

    def _new(self, dice: Random) -> str:
        """A name that nothing has; the directory above it is made."""
        self._made += 1
        above = dice.choice(["user", "user", f"user/d{dice.randint(0, 4)}", f"user/d{dice.randint(0, 4)}/deep"])
        try:
            os.makedirs(os.path.join(self._folder, above), exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            above = "user"
            os.makedirs(os.path.join(self._folder, above), exist_ok=True)
        return f"{above}/n{self._made}"
