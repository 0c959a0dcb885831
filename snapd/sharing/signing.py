"""Signs what leaves this machine, and checks the signatures of what came, with the keys that the user's git names."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

import attrs

from snapd.model.errors import InvalidParams, IoError, StorageFull, StoreCorrupt
from snapd.model.handover import SignatureStatus
from snapd.remotes.ssh_keygen import PROGRAM, Signers, SshKeygen, literal_key, public_key

from .formats import NAMESPACE, fingerprint
from .signatures import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from snapd.model.call import Call
    from snapd.worktree.git.config import SigningSettings

    from .mirror import Mirror
    from .signatures import IndexedSignature

_HINT = "name an ssh key: the path of its file, or a public key that your ssh agent has"


@attrs.frozen
class Signer:
    """Signs with one key: a public key, or the absolute path of the file of a public or private one."""

    program: SshKeygen
    key: str

    @property
    def fingerprint(self) -> str | None:
        """The key's fingerprint; None if it is not known before the first signature."""
        key = public_key(self.key)
        return None if key is None else fingerprint(key)

    def sign(self, payload: bytes, call: Call) -> bytes:
        """Returns an armored signature; raises as `SshKeygen.sign`."""
        return self.program.sign(payload, NAMESPACE, self.key, call)


def signer_of(key: str | None, settings: SigningSettings, program: SshKeygen, home: str) -> Signer:
    """Returns the signer for a key, or for None for that of the user's git; raises `InvalidParams` if there is none."""
    field, chosen = "signingKey", key
    if chosen is None:
        field, chosen = "sign", settings.key
        if chosen is None:
            raise InvalidParams(
                "sign: your git configuration names no user.signingKey",
                hint="set it ('git config --global user.signingKey ~/.ssh/id_ed25519.pub'), or name a key with "
                "--signing-key",
                field=field,
            )
        if settings.format != "ssh" and literal_key(chosen) is None:
            kind = settings.format or "openpgp"
            raise InvalidParams(
                f"sign: snapd signs with ssh keys, and gpg.format of your git configuration is {kind}",
                hint="name an ssh key with --signing-key, or set gpg.format to ssh",
                field=field,
            )
    if literal_key(chosen) is not None:
        return Signer(program, chosen)
    path = os.path.join(home, chosen[2:]) if chosen.startswith("~/") else chosen
    if not os.path.isabs(path) or "\0" in path:
        raise InvalidParams(
            f"{field}: {chosen!r} is neither a public key nor an absolute path", hint=_HINT, field=field
        )
    if not os.path.exists(path):
        raise InvalidParams(f"{field}: there is no file {path}", hint=_HINT, field=field)
    return Signer(program, path)


@attrs.frozen
class Checks:
    """Checks signatures, each again only after the files that say whose keys count have changed."""

    _settings: SigningSettings
    _program: SshKeygen

    def of(self, mirror: Mirror, indexed: IndexedSignature, call: Call) -> SignatureStatus:
        """Returns the status of a signature; raises `Cancelled`."""
        if indexed.signed is None:
            return SignatureStatus("bad", reason="it is no signature that snapd makes")
        signed = None if indexed.seconds is None else indexed.seconds * 1000
        if indexed.covers == "none":
            return SignatureStatus(
                "bad", None, indexed.key, signed, "it signs another version of this, or something else"
            )
        verdict = indexed.verdict
        if verdict is None or verdict.stamp != self._stamp:
            verdict = self._checked(mirror, indexed, call)
        state, reason = verdict.state, verdict.reason
        if state in ("good", "unknown") and indexed.covers == "older":
            state, reason = "bad", "it signs an older version than the one that was fetched before"
        elif state == "good" and indexed.covers == "part":
            state, reason = "partial", "what was added later is not signed"
        return SignatureStatus(state, verdict.signer, indexed.key, signed, reason)

    def _checked(self, mirror: Mirror, indexed: IndexedSignature, call: Call) -> Verdict:
        signers = Signers(self._settings.allowed_signers, self._settings.revoked)
        try:
            tag = mirror.signatures.read(indexed)
            result = self._program.check(tag.payload, tag.signature, NAMESPACE, tag.seconds, signers, call)
            verdict = Verdict(self._stamp, result.state, result.principal, result.reason)
            if verdict.state != "unchecked":
                mirror.signatures.note_verdict(indexed, verdict)
        except (StoreCorrupt, StorageFull, IoError) as error:
            # a list of sessions must not fail because one cannot be checked now
            return Verdict(self._stamp, "unchecked", None, error.message)
        return verdict

    @property
    def _stamp(self) -> str:
        """Identifies everything that a verdict depends on, besides the signature."""
        parts = [self._program.program]
        for path in (self._settings.allowed_signers, self._settings.revoked):
            parts.append(path or "-")
            try:
                status = None if path is None else os.stat(path)
            except OSError:
                # without the file, no key counts
                status = None
            if status is not None:
                parts.append(
                    f"{status.st_dev}:{status.st_ino}:{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}"
                )
        return hashlib.sha1("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


def program_of(settings: SigningSettings, environment: Mapping[str, str]) -> SshKeygen:
    """Returns the program that the user's git names, or the default one."""
    return SshKeygen(environment, settings.program or PROGRAM)
