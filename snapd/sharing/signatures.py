"""The signatures of the sessions and handovers of one mirror, and how much each covers. `signing` checks the keys."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Literal

import attrs

from snapd.model.errors import StoreCorrupt
from snapd.model.handover import SignatureState
from snapd.model.snapshot import EMPTY_TREE, ObjectId
from snapd.store.objects.codec import decode_commit
from snapd.store.refs.database import references_below
from snapd.store.repository import ShadowRepository

from . import formats
from .formats import MOST_BYTES, SIGNATURES, SignatureTag, decode_tag, signature_of, signed_by
from .index import SessionIndex
from .outgoing import as_host

Covers = Literal["all", "part", "older", "none"]

_COLUMNS = "chain, tag, head, covers, signed, key, seconds, stamp, state, signer, reason"
_HANDOVERS = signature_of(formats.HANDOVERS)


@attrs.frozen
class Verdict:
    """The result of checking a signature with the settings that `stamp` identifies.

    `signer` is whose key it is, if known; `reason` says why the signature is not good.
    """

    stamp: str
    state: SignatureState
    signer: str | None
    reason: str | None


@attrs.frozen
class IndexedSignature:
    """A signature that was fetched.

    Attributes:
        head: the newest commit of the session or handover that it came with.
        covers: what it signs: "all"; "part", an earlier commit of it; "older", less than an earlier signature; or
            "none".
        signed: the signed commit; None, like `key` and `seconds`, if this is no signature of snapd.
        key: the fingerprint of the key.
        seconds: when it was signed, since 1970.
        verdict: the last check; None if there was none.
    """

    reference: str
    tag: ObjectId
    head: ObjectId
    covers: Covers
    signed: ObjectId | None = None
    key: str | None = None
    seconds: int | None = None
    verdict: Verdict | None = None


@attrs.frozen
class MirrorSignatures:
    """The signatures of one mirror.

    The repository has the tags of signatures that cover something, under the same names as at the remote. The others
    are only in the index, where `_mirror` is the name of this mirror.
    """

    _repository: ShadowRepository
    _index: SessionIndex
    _mirror: str

    def of(self, references: Collection[str]) -> dict[str, IndexedSignature]:
        """Returns the signatures of sessions and handovers, by the references of these."""
        statement = f"SELECT {_COLUMNS} FROM signatures WHERE mirror = ?"  # noqa: S608 (constants)
        rows = self._index.named(statement, self._mirror, [signature_of(name) for name in references])
        return {signed_by(row[0]): _indexed(row) for row in rows}

    def tags(self, references: Collection[str] | None) -> dict[str, ObjectId]:
        """Returns the tags in the repository of these sessions (None for all) and of all handovers."""
        stored = "SELECT chain, tag FROM signatures WHERE mirror = ? AND covers != 'none'"
        names = None if references is None else [signature_of(name) for name in references]
        result = dict(self._index.named(stored, self._mirror, names))
        beginning = (self._mirror, _HANDOVERS, _HANDOVERS + "~")
        return result | dict(self._index.ask(f"{stored} AND chain > ? AND chain < ?", *beginning))

    def roots(self) -> Iterator[tuple[ObjectId, ...]]:
        """Yields the tags in the repository, and the signed commits of handovers, which nothing else may reach."""
        for name, tag in self.tags(None).items():
            yield tag, EMPTY_TREE
            if name.startswith(_HANDOVERS):
                signed = self._read(tag).signed
                yield signed, decode_commit(self._repository.read_commit(signed), signed)[0]

    def look_at(
        self,
        reference: str,
        head: ObjectId,
        tag: ObjectId,
        had: IndexedSignature | None = None,
        complete: Callable[[Iterable[ObjectId]], object] | None = None,
    ) -> IndexedSignature:
        """Inspects the signature `tag`, which came with a session or handover at `reference` and `head`.

        `had` is the signature that was there before. `complete` copies missing objects from elsewhere on this machine;
        None if none can be missing.
        """
        own = signature_of(reference)
        if complete is not None and not self._repository.has(tag):
            complete([tag])
        try:
            result = self._read(tag)
        except StoreCorrupt:
            return IndexedSignature(own, tag, head, "none")
        covers = self._covers(reference, head, result)
        if covers == "all" and complete is not None and not self._repository.has(result.signed):
            complete([result.signed])
        if covers != "none" and self._is_before(result.signed, had):
            covers = "older"
        return IndexedSignature(
            reference=own,
            tag=tag,
            head=head,
            covers=covers,
            signed=result.signed,
            key=result.key,
            seconds=result.seconds,
        )

    def put(self, signatures: Collection[IndexedSignature], gone: Collection[str]) -> None:
        """Adds or replaces signatures, and removes those `gone`, by their own references."""
        stored = {each.reference: each.tag for each in signatures if each.covers != "none"}
        references = self._repository.references
        for name in [*gone, *(each.reference for each in signatures if each.reference not in stored)]:
            references.delete(name)
        references.move(stored, durable=True)
        with self._index.transaction() as connection:
            for name in [*gone, *(each.reference for each in signatures)]:
                for table in ("signatures", "there"):
                    # the names of the tables are constants
                    where = "WHERE mirror = ? AND chain = ?"
                    connection.execute(f"DELETE FROM {table} {where}", (self._mirror, name))  # noqa: S608
            connection.executemany(
                "INSERT INTO signatures (mirror, chain, tag, head, covers, signed, key, seconds) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [(self._mirror, *attrs.astuple(each)[:-1]) for each in signatures],
            )

    def refresh(self, heads: Mapping[str, ObjectId]) -> None:
        """Makes the index agree with the references; `heads` has those of all sessions and handovers."""
        there = references_below(self._repository.path, SIGNATURES).whole()
        had = self.of(heads)
        matches = [
            self.look_at(name, head, tag)
            for name, head in heads.items()
            if (tag := there.get(signature_of(name))) is not None
            and (name not in had or (had[name].tag, had[name].head) != (tag, head))
        ]
        known = {name for (name,) in self._index.ask("SELECT chain FROM signatures WHERE mirror = ?", self._mirror)}
        lost = {each.reference for each in had.values() if each.covers != "none" and each.reference not in there}
        gone = lost | ((known | there.keys()) - {signature_of(name) for name in heads})
        if matches or gone:
            self.put(matches, gone)

    def read(self, indexed: IndexedSignature) -> SignatureTag:
        """Returns the content of a signature that covers something; raises `StoreCorrupt`."""
        return self._read(indexed.tag)

    def note_verdict(self, indexed: IndexedSignature, verdict: Verdict) -> None:
        """Records the result of a check."""
        with self._index.transaction() as connection:
            connection.execute(
                "UPDATE signatures SET stamp = ?, state = ?, signer = ?, reason = ? "
                "WHERE mirror = ? AND chain = ? AND tag = ? AND head = ?",
                (*attrs.astuple(verdict), self._mirror, indexed.reference, indexed.tag, indexed.head),
            )

    def made(self, reference: str) -> tuple[ObjectId, ObjectId, str] | None:
        """Returns what this machine signed last for the remote: the commit, the tag, and the key's fingerprint."""
        statement = "SELECT signed, tag, key FROM made WHERE mirror = ? AND chain = ?"
        return next(iter(self._index.ask(statement, self._mirror, signature_of(reference))), None)

    def note_made(self, made: Mapping[str, tuple[ObjectId, ObjectId, str]]) -> None:
        """Records what `made` returns, by the references of what was signed."""
        with self._index.transaction() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO made VALUES (?, ?, ?, ?, ?)",
                [(self._mirror, signature_of(name), *each) for name, each in made.items()],
            )

    def signed(self, reference: str, tag: ObjectId) -> ObjectId | None:
        """Returns the commit that a tag at the remote signs; None if this machine does not know."""
        fetched = self.of([reference]).get(reference)
        if fetched is not None and fetched.tag == tag:
            return fetched.signed
        made = self.made(reference)
        return made[0] if made is not None and made[1] == tag else None

    def _read(self, tag: ObjectId) -> SignatureTag:
        kind, size = self._repository.describe(tag)
        if kind != "tag" or size > MOST_BYTES:
            raise StoreCorrupt(f"{tag.hex()} is no signature of snapd", object=tag.hex())
        return decode_tag(tag, self._repository.read(tag)[1])

    def _covers(self, reference: str, head: ObjectId, signature_tag: SignatureTag) -> Covers:
        if signature_tag.reference != reference:
            return "none"
        if reference.startswith(formats.HANDOVERS):
            handed = formats.decode_handover(head, self._repository.read_commit(head), self._repository.read_tree)
            # a takeover adds a note to the handover, which the signer cannot have signed
            is_it = signature_tag.signed == formats.original(handed, as_host(handed.handover.host))
            return "all" if is_it else "none"
        if signature_tag.signed == head:
            return "all"
        return "part" if signature_tag.signed in self._before(head) else "none"

    def _is_before(self, signed: ObjectId, had: IndexedSignature | None) -> bool:
        """Returns whether a commit is an ancestor of what another signature signs."""
        if had is None or had.signed is None or had.covers == "none":
            return False
        return signed in self._before(had.signed)

    def _before(self, commit: ObjectId) -> Iterator[ObjectId]:
        """Yields the ancestors of a commit."""
        at: ObjectId | None = commit
        while at is not None and (at := decode_commit(self._repository.read_commit(at), at)[1]) is not None:
            yield at


def _indexed(row: tuple[Any, ...]) -> IndexedSignature:
    reference, tag, head, covers, signed, key, seconds, stamp, *text = row
    verdict = None if stamp is None else Verdict(stamp, *text)
    return IndexedSignature(
        reference=reference, tag=tag, head=head, covers=covers, signed=signed, key=key, seconds=seconds, verdict=verdict
    )
