"""The coverage of a snapshot as a blob. It is encoded again only if it changed; the last decoded ones are cached."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from snapd.model.errors import StoreCorrupt
from snapd.model.snapshot import Coverage, FormerName, ObjectId, RuleText, Skip, SkipReason
from snapd.store.objects.cache import RecentCache
from snapd.store.objects.codec import object_id

_AT_HAND = 8


class Coverages:
    """Translates between coverages and blobs. Safe to use from several threads."""

    def __init__(self) -> None:
        self._last: tuple[Coverage, ObjectId] | None = None
        self._decoded: RecentCache[ObjectId, Coverage] = RecentCache(_AT_HAND, lambda _: 1)

    def blob_id(self, coverage: Coverage) -> ObjectId:
        """Returns the id of the blob of a coverage."""
        last = self._last
        if last is None or last[0] is not coverage:
            oid = last[1] if last is not None and last[0] == coverage else object_id("blob", encode(coverage))
            last = self._last = (coverage, oid)
        oid = last[1]
        self._decoded.keep(oid, coverage)
        return oid

    def decoded(self, oid: ObjectId, read: Callable[[ObjectId], bytes]) -> Coverage:
        """Returns the coverage in a blob, whose bytes `read` returns; raises `StoreCorrupt` if it is not a coverage."""
        coverage = self._decoded.get(oid)
        if coverage is None:
            try:
                coverage = decode(read(oid))
            except (ValueError, KeyError, TypeError) as error:
                raise StoreCorrupt(f"blob {oid.hex()} is not a coverage", object=oid.hex()) from error
            self._decoded.keep(oid, coverage)
        return coverage


def encode(coverage: Coverage) -> bytes:
    """Encodes a coverage as the bytes of its blob."""
    document: dict[str, Any] = {
        "version": 1,
        "prefix": _text(coverage.prefix),
        "emptyDirs": [_text(path) for path in coverage.empty_dirs],
        "skipped": [[_text(skip.path), skip.reason.value] for skip in coverage.skipped],
        "rules": [[rule.kind, _text(rule.base), _text(rule.text)] for rule in coverage.rules],
        "forced": [_text(path) for path in coverage.forced],
    }
    if coverage.origins:
        document["origins"] = [
            [_text(path), [[_text(origin.path), origin.uncaptured] for origin in origins]]
            for path, origins in coverage.origins
        ]
    if coverage.permissions:
        document["permissions"] = [[_text(path), permissions] for path, permissions in coverage.permissions]
    if coverage.left_out:
        document["leftOut"] = [[_text(path), oid.hex()] for path, oid in coverage.left_out]
    return json.dumps(document, separators=(",", ":")).encode("ascii")


def decode(data: bytes) -> Coverage:
    """Decodes a coverage; raises `ValueError`, `KeyError` or `TypeError` if the bytes are not one."""
    document: dict[str, Any] = json.loads(data)
    return Coverage(
        prefix=_raw(document["prefix"]),
        empty_dirs=tuple(_raw(path) for path in document["emptyDirs"]),
        skipped=tuple(Skip(_raw(path), SkipReason(reason)) for path, reason in document["skipped"]),
        rules=tuple(RuleText(kind, _raw(base), _raw(text)) for kind, base, text in document["rules"]),
        forced=tuple(_raw(path) for path in document["forced"]),
        origins=tuple(
            (_raw(path), tuple(FormerName(_raw(was), bool(uncaptured)) for was, uncaptured in origins))
            for path, origins in document.get("origins", ())
        ),
        permissions=tuple((_raw(path), int(permissions)) for path, permissions in document.get("permissions", ())),
        left_out=tuple((_raw(path), bytes.fromhex(oid)) for path, oid in document.get("leftOut", ())),
    )


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
