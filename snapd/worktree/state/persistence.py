"""Saves the state of a work tree, so that a new process need not read every file again.

A look trusts a saved state no more than one in memory: a record counts only if its signature is still that on disk. So
an old saved state only costs more reads, and a damaged one is ignored.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import struct
from collections.abc import Iterator

import attrs

from snapd.failpoints import failpoint
from snapd.model.errors import os_errors
from snapd.model.ignore import IgnoreStack
from snapd.model.snapshot import ObjectId, RelPath, SkipReason
from snapd.worktree.fs.listing import SIGNATURE_BYTES
from snapd.worktree.ignore.evaluator import DirectoryRules, Scope

from .file_state import OID_BYTES, PackedFiles
from .nodes import DirectoryNode, Uncaptured
from .tree_state import TreeState
from .uncaptured import Known

_MAGIC = b"snapd memory 3\n\0"
_DIGEST_BYTES = 20
_HEAD = struct.Struct("<20s20sIQII")
_KNOWN = struct.Struct("<qQQ?")
_NODE = struct.Struct("<IHQH20sBIIII")
_UNCAPTURED: tuple[Uncaptured | SkipReason, ...] = (*Uncaptured, *SkipReason)
_UNCAPTURED_CODES = {why: bytes((number,)) for number, why in enumerate(_UNCAPTURED, 1)}
_SCOPES = tuple(Scope)
_NO_TREE = _NO_KEY = bytes(_DIGEST_BYTES)
_NO_PARENT = 0xFFFFFFFF


class _DamagedError(Exception):
    """The bytes are no saved state."""


@attrs.frozen
class Saved:
    """A saved state.

    Attributes:
        tree: a snapshot with all the objects that the state counts on.
        rules_digest: of what decided, beside the ignore files in the tree, which names are captured.
        root: the workspace.
        looked_at: see `TreeState`.
        uncaptured: see `UncapturedFiles.known`.
    """

    tree: ObjectId
    rules_digest: bytes
    root: DirectoryNode
    looked_at: int
    uncaptured: dict[RelPath, Known]


def save(path: str, state: TreeState, tree: ObjectId, rules_digest: bytes) -> None:
    """Saves a state. It need not say what is unread: such a file has an old record or none, and is read again.

    Args:
        path: of the file.
        state: what to save.
        tree: as in `Saved`.
        rules_digest: as in `Saved`.

    Raises:
        StorageFull, IoError: the file is as it was before.
    """
    temporary = f"{path}.{secrets.token_hex(6)}.tmp"
    with os_errors(path):
        try:
            failpoint("memory.save")
            with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                digest = hashlib.sha1()
                file.write(_MAGIC + bytes(_DIGEST_BYTES))
                # piece by piece: the process would not give the memory for all of it back
                for piece in _encode(state, tree, rules_digest):
                    digest.update(piece)
                    file.write(piece)
                file.seek(len(_MAGIC))
                file.write(digest.digest())
            failpoint("memory.rename")
            os.rename(temporary, path)
        except BaseException:
            _remove(temporary)
            raise


def load(path: str) -> Saved | None:
    """The saved state; None if there is none that can be used."""
    try:
        failpoint("memory.load")
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return None
    start = len(_MAGIC) + _DIGEST_BYTES
    if data[: len(_MAGIC)] != _MAGIC or hashlib.sha1(memoryview(data)[start:]).digest() != data[len(_MAGIC) : start]:
        return None
    try:
        return _decode(data, start)
    except (_DamagedError, struct.error, IndexError):
        return None


def _encode(state: TreeState, tree: ObjectId, rules_digest: bytes) -> Iterator[bytes]:
    numbers: dict[DirectoryNode, int] = {}
    keys: dict[bytes, int] = {}
    for _, node in state.root.walk():
        numbers[node] = len(numbers)
        keys.setdefault(_rules_of(node)[1], len(keys))
    uncaptured = state.uncaptured.known
    paths = b"\0".join(uncaptured)
    yield _HEAD.pack(tree, rules_digest, len(keys), state.looked_at, len(uncaptured), len(paths))
    yield from keys
    yield paths
    yield from (_KNOWN.pack(*known) for known in uncaptured.values())
    for node in numbers:
        scope, key = _rules_of(node)
        files = node.packed_files
        others = b"\0".join(_UNCAPTURED_CODES[why] + name for name, why in node.others.items())
        yield _NODE.pack(
            _NO_PARENT if node.parent is None else numbers[node.parent],
            len(node.name),
            node.inode,
            node.permissions,
            node.tree or _NO_TREE,
            _SCOPES.index(scope),
            keys[key],
            len(others),
            len(files.names),
            len(files),
        )
        yield from (node.name, others, files.names, files.signatures, files.oids, files.racy)


def _rules_of(node: DirectoryNode) -> tuple[Scope, bytes]:
    return (node.rules.scope, node.rules.key) if node.rules is not None else (Scope.RULES, _NO_KEY)


def _decode(data: bytes, at: int) -> Saved:
    held, rules_digest, key_count, looked_at, uncaptured_count, paths_length = _HEAD.unpack_from(data, at)
    at += _HEAD.size
    keys = [data[start : start + _DIGEST_BYTES] for start in range(at, at + key_count * _DIGEST_BYTES, _DIGEST_BYTES)]
    at += key_count * _DIGEST_BYTES
    paths = data[at : at + paths_length].split(b"\0") if uncaptured_count else []
    at += paths_length
    end = at + uncaptured_count * _KNOWN.size
    uncaptured = dict(zip(paths, map(Known._make, _KNOWN.iter_unpack(data[at:end])), strict=False))
    at = end
    known_rules: dict[tuple[int, int], DirectoryRules] = {}
    nodes: list[DirectoryNode] = []
    while at < len(data):
        parent, name_length, inode, permissions, tree, scope, key, others_length, names_length, count = (
            _NODE.unpack_from(data, at)
        )
        at += _NODE.size
        name = data[at : at + name_length]
        at += name_length
        above = None if parent == _NO_PARENT else nodes[parent]
        rules = known_rules.get((scope, key))
        if rules is None:
            # the first look reads the ignore files; until then the key alone shows whether they are the same
            rules = known_rules[scope, key] = DirectoryRules(_SCOPES[scope], IgnoreStack(), (), keys[key])
        node = DirectoryNode(name, above, inode, tree=None if tree == _NO_TREE else tree, rules=rules)
        node.permissions = permissions
        if others_length:
            others = data[at : at + others_length].split(b"\0")
            node.others = {other[1:]: _UNCAPTURED[other[0] - 1] for other in others}
            at += others_length
        if count:
            signatures = at + names_length
            oids = signatures + count * SIGNATURE_BYTES
            racy = oids + count * OID_BYTES
            end = racy + count
            if end > len(data):
                raise _DamagedError
            node.files = PackedFiles(data[at:signatures], data[signatures:oids], data[oids:racy], data[racy:end])
            at = end
        nodes.append(node)
        if above is not None:
            above.directories[name] = node
    return Saved(held, rules_digest, nodes[0], looked_at, uncaptured)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
