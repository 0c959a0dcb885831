"""Everything that reads others' text: it ends soon with a result or an error of its own, whatever the text."""

from __future__ import annotations

import json
import os
import random
import struct
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import attrs

from snapd.acp import messages as acp
from snapd.agents import jsonc, styles
from snapd.hook import json_text
from snapd.mcp import messages as mcp
from snapd.model.errors import InvalidParams, SnapdError, did_you_mean
from snapd.model.ignore import RULES_BYTES, IgnoreFile
from snapd.model.paths import from_uri
from snapd.notes.note import BadNoteError, Note
from snapd.remotes import address
from snapd.rpc.transport import framing as rpc
from snapd.secret_rules.shipped import secret_rules
from snapd.sharing import formats
from snapd.store import coverage
from snapd.store.files.durable import DamagedData
from snapd.store.objects import codec, pack_entry
from snapd.store.timeline.codec import decode_event
from snapd.web.api import parameters
from snapd.web.api.table import ROWS
from snapd.worktree.git.config import GitUser, variables
from snapd.worktree.git.index import MalformedIndex, read_bitmap, read_index
from snapd.worktree.git.index_seed import Conversions
from snapd.worktree.git.repository import nested_repository, object_directories, unquoted, user_excludes
from snapd.worktree.ignore import parsed

SECONDS = 1.0
"""Of processor time, for an input of `SIZE` bytes: a parser takes a tenth of it."""
SIZE = 64 << 10
_OID = b"\1" * 20


@attrs.frozen
class Parser:
    """What reads a kind of text.

    Attributes:
        read: reads it.
        seeds: texts that it takes.
        refuses: how it says that it does not take a text.
    """

    read: Callable[[bytes], object]
    seeds: tuple[bytes, ...]
    refuses: tuple[type[Exception], ...] = (SnapdError,)


def _text(read: Callable[[str], object]) -> Callable[[bytes], object]:
    return lambda data: read(data.decode("utf-8", "replace"))


def _ignore(data: bytes) -> None:
    file = IgnoreFile.parse(data[:RULES_BYTES], b"sub")
    for path in (b"sub/a.txt", b"sub/" + b"a" * 255, b"sub/" + b"a/" * 500 + b"b"):
        for is_directory in (False, True):
            file.match(path, is_directory)
    assert file.match(b"other/a.txt", False) is None


def _attributes(data: bytes) -> None:
    conversions = Conversions(fold=False)
    conversions.add(data, b"")
    conversions.add(data, b"sub")
    conversions.may_convert(b"sub/a.txt")


def _settings(data: bytes) -> None:
    for key in parsed(data):
        did_you_mean(key, ["exclude"])


class _Files:
    """Parsers that read a file, each in a place of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.git = self.folder / "work" / ".git"

    def _write(self, path: Path, data: bytes) -> bytes:
        for made in (self.git / "objects" / "info", self.git / "refs"):
            made.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return os.fsencode(path)

    def index(self, data: bytes) -> None:
        read_index(self._write(self.folder / "index", data))

    def config(self, data: bytes) -> None:
        path = self._write(self.folder / "config", data)
        variables(os.fsdecode(path), str(self.folder))
        user_excludes(GitUser(str(self.folder), None, os.fsdecode(path), "/nonexistent"), None)

    def of_git(self, name: str, data: bytes) -> None:
        """A file of a git directory, the others of which are as they should be."""
        self._write(self.git / "HEAD", b"ref: refs/heads/main\n")
        self._write(self.git / name, data)
        try:
            nested_repository(os.fsencode(self.git.parent))
        finally:
            (self.git / name).unlink()

    def gitfile(self, data: bytes) -> None:
        self._write(self.folder / ".git", data)
        nested_repository(os.fsencode(self.folder))

    def alternates(self, data: bytes) -> None:
        self._write(self.git / "objects" / "info" / "alternates", data)
        assert len(object_directories(os.fsencode(self.git / "objects"))) <= 256


def _tag() -> bytes:
    lines = [b"object " + b"0" * 40, b"type commit", b"tag x", b"tagger snapd <snapd@h> 1 +0000", b""]
    return b"\n".join([*lines, b"-----BEGIN SSH SIGNATURE-----", b"U1NIU0lH", b"-----END SSH SIGNATURE-----", b""])


_NOTE = b'a.txt\n  h 1-3,5\n---\n{"schema_version": "authorship/3.0.0", "prompts": {"h": {"agent_id": {"tool": "x"}}}}'
_MESSAGE = b'{"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"a": [1, "\\u0041", null, true, 1.5e3]}}'
_INDEX = struct.pack(">4sII", b"DIRC", 4, 1) + bytes(40 + 20) + b"\0\5\0a.txt\0" + bytes(20)
_EVENT = json.dumps({"version": 1, "type": "x", "previous": 1, "what": {"a": []}, "seen": {}}).encode()
_COVERAGE = coverage.encode(coverage.Coverage(empty_dirs=(b"a",), rules=(coverage.RuleText("own", b"", b"*"),)))
_JSONC = b'// a\n{"a": [1, /* b */ "c\\n",], "hooks": {"Stop": [{"hooks": [{"command": "snapd hook"}]}]}}'
_POST = next(row.route for row in ROWS if row.route.verb == "POST")
_GET = next(row.route for row in ROWS if row.route.verb == "GET" and row.route.inputs)


def parsers(folder: Path) -> dict[str, Parser]:
    """The parsers by name; those of files have them in a folder."""
    files = _Files(folder)
    return {
        "ignore": Parser(_ignore, (b"*.o\n!/a/**/b[!a-z]?\n\\#x\n", b"[[:alpha:]]*\n**/a/\n")),
        "attributes": Parser(_attributes, (b'[attr]m filter=x\n*.c m -text\n"a b" ident\n',)),
        "settings": Parser(_settings, (b"exclude = [\"*.log\", 'a']\n[a.b]\nc.d = {e = 1}\n",), (ValueError,)),
        "index": Parser(files.index, (_INDEX,), (MalformedIndex,)),
        "bitmap": Parser(
            lambda data: read_bitmap(data, 0, SIZE),
            (struct.pack(">IIQQI", 64, 2, 3, 7, 0),),
            (OverflowError, struct.error),
        ),
        "config": Parser(
            files.config, (b'[core]\n\texcludesFile = ~/x\n[include]\n\tpath = config\n[a "b\\"c"]\nd=e\\\nf\n',)
        ),
        "gitfile": Parser(files.gitfile, (b"gitdir: work/.git\n",)),
        "alternates": Parser(files.alternates, (b'/a\n# b\n"../objects\\n"\n',)),
        "quoted": Parser(unquoted, (b'"a\\303\\244\\n\\"b"', b"a")),
        "note": Parser(Note.parse, (_NOTE,), (BadNoteError,)),
        "jsonc": Parser(_text(jsonc.parse), (_JSONC,), (jsonc.BrokenText,)),
        "programs": Parser(_text(styles.programs), (_JSONC,), (jsonc.BrokenText,)),
        "hook": Parser(_text(json_text.decode), (_MESSAGE,), (ValueError, RecursionError)),
        "address": Parser(
            _text(lambda text: (address.is_relative(text), address.without_secret(text), address.resolve(text, {}))),
            (b"ssh://u:p@h:1/a", b"git@h:a/b", b"/a", b"https://h/a?b#c"),
            (InvalidParams,),
        ),
        "uri": Parser(_text(partial(from_uri, field="x")), (b"file:///a%20b/c", b"file:///a\nb\t"), (InvalidParams,)),
        "tag": Parser(partial(formats.decode_tag, _OID), (_tag(),)),
        "armour": Parser(
            lambda data: formats.fingerprint_in(data.decode("ascii", "replace")),
            (b"U1NIU0lHAAAAAQAAAAEA",),
            (ValueError,),
        ),
        "event": Parser(lambda data: decode_event(data.decode("utf-8", "replace"), _OID), (_EVENT,)),
        "coverage": Parser(
            coverage.decode, (_COVERAGE,), (ValueError, KeyError, TypeError, AttributeError, RecursionError)
        ),
        "tree": Parser(partial(codec.decode_tree, oid=_OID), (b"100644 a\0" + _OID,)),
        "commit": Parser(
            partial(codec.decode_commit, oid=_OID), (b"tree %s\nparent %s\n\nx" % (b"0" * 40, b"1" * 40),)
        ),
        "entry": Parser(pack_entry.read_head, (b"\x95\x0ax",), (DamagedData, ValueError, IndexError)),
        "delta": Parser(
            partial(pack_entry.apply_delta, b"base" * 10),
            (b"\x28\x04\x90\x04", b"\x28\x03\3abc"),
            (DamagedData, ValueError),
        ),
        "secrets": Parser(
            partial(secret_rules().look, b"a.env"),
            (b"key = 'AKIAIOSFODNN7EXAMPLE'\n-----BEGIN RSA PRIVATE KEY-----\nMIIE",),
        ),
        "mcp": Parser(mcp.parse, (_MESSAGE,)),
        "acp": Parser(acp.parse, (_MESSAGE,)),
        "rpc": Parser(rpc.parse, (_MESSAGE,), (rpc.RpcError,)),
        "query": Parser(partial(parameters.from_query, _GET), (b"a=b%20c&limit=1&limit=2",)),
        "body": Parser(partial(parameters.from_body, _POST), (b'{"all": true}',)),
        **{
            f".git/{name}": Parser(partial(files.of_git, name), (b"../x\n",))
            for name in ("HEAD", "commondir", "config")
        },
    }


NAMES = tuple(parsers(Path()))


_FRAGMENTS = [
    *(bytes([byte]) for byte in b"[{(\"'\\/.*?!#=-,:;&%$<>`a9A \t\n\r\0\x80\xff"),
    *(
        b"a.",
        b"**/",
        b"*a",
        b"[!a]",
        b"[:",
        b"[[:alpha:]]",
        b"\\\n",
        b'\\"',
        b"[attr]a b\n",
        b"[a]\n",
        b"a/",
        b"../",
        b"{a=",
    ),
    *(
        b'{"a":',
        b"[[",
        b"a=b\n",
        b"%00",
        b"\\u0041",
        b"/*",
        b"//\n",
        b"a b\n",
        b"1-2,",
        b"AKIA",
        b"-----BEGIN ",
        b"key='",
    ),
    *(b"\x90\1", b"\0\1", b"[include]\npath=config\n", b"]", b"}", b"'''", b'"""', b"tree ", b"gitdir: "),
]


def pumped(seeds: tuple[bytes, ...], size: int) -> Iterator[bytes]:
    """Inputs of one fragment again and again, alone, and in front of a text and behind it."""
    for fragment in _FRAGMENTS:
        many = fragment * (size // len(fragment))
        yield many
        yield many + seeds[0]
        yield seeds[0] + many


def mutated(seeds: tuple[bytes, ...], chance: random.Random, size: int) -> bytes:
    """A text with pieces lost, repeated, moved and put in."""
    data = bytearray(chance.choice(seeds))
    for _ in range(chance.randint(1, 6)):
        start = chance.randrange(len(data) + 1)
        end = min(len(data), start + chance.choice([0, 1, 2, 8, 64]))
        piece = bytes(data[start:end]) or chance.choice(_FRAGMENTS)
        times = chance.choice([0, 1, 2, 100, size // len(piece)])
        data[start:end] = (piece * times)[:size]
    return bytes(data[:size])


def check(parser: Parser, data: bytes) -> float:
    """Reads a text; gives how much processor time that took, in seconds."""
    began = time.thread_time()
    try:
        parser.read(data)
    except parser.refuses:
        pass
    except Exception as error:
        raise AssertionError(f"{data[:200]!r} ({len(data)} bytes)") from error
    taken = time.thread_time() - began
    assert taken < SECONDS * max(0.25, len(data) / SIZE), (taken, len(data), data[:200])
    return taken


def check_parser(parser: Parser, examples: int, chance: random.Random, size: int = SIZE) -> int:
    """Tries what is pumped, and so many mutated texts; gives how many inputs that were."""
    for seed in parser.seeds:
        check(parser, seed)
    count = len(parser.seeds)
    for data in pumped(parser.seeds, size):
        check(parser, data)
        count += 1
    for _ in range(examples):
        check(parser, mutated(parser.seeds, chance, size))
    return count + examples
