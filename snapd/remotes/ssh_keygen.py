"""Signs with ssh keys, and checks such signatures, with `ssh-keygen -Y`, as git does."""

from __future__ import annotations

import base64
import binascii
import os
import re
import shutil
import tempfile
import time
from typing import TYPE_CHECKING, Literal

import attrs

from snapd.model.errors import SigningFailed, os_errors

from .program import Bounds, finished, start

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from snapd.model.call import Call

    from .program import Finished

PROGRAM = "ssh-keygen"

_KEPT = ("HOME", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "SSH_AUTH_SOCK")
# other signing programs, such as those of password managers, open a window
_FOR_SIGNING = ("DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "SSH_SK_PROVIDER")
_BOUNDS = Bounds(output_bytes=1 << 20, file_bytes=1 << 20, memory_bytes=1 << 30, seconds=60)
_LITERAL = re.compile(r"(?:key::)?((?:ssh-|ecdsa-|sk-)[^\s]+ [A-Za-z0-9+/=]+)(?: .*)?", re.DOTALL)
_LONGEST_KEY = 1 << 16
_MOST_PRINCIPALS = 100
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


@attrs.frozen
class Checked:
    """The result of a check.

    `state` is "good" if an allowed key made the signature, "unknown" if another key did, "bad" if it does not match or
    its key was revoked, and "unchecked" if that could not be determined. `principal` is whose key it is, if it is
    allowed. `reason` says why the signature is not good: a sentence without a full stop.
    """

    state: Literal["good", "unknown", "bad", "unchecked"]
    principal: str | None = None
    reason: str | None = None


@attrs.frozen
class SshKeygen:
    """The program that signs and verifies, by its name or path."""

    environment: Mapping[str, str]
    program: str = PROGRAM

    def sign(self, payload: bytes, namespace: str, key: str, call: Call) -> bytes:
        """Returns an armored signature; raises `SigningFailed` if the key cannot be used.

        `key` is a public key whose private key an agent has, or the path of the file of either.
        """
        self._check_there()
        with tempfile.TemporaryDirectory(prefix="snapd-sign-") as folder:
            literal = literal_key(key)
            data, file = os.path.join(folder, "payload"), key
            with os_errors(folder):
                write_file(data, payload)
                if literal is not None:
                    file = os.path.join(folder, "key.pub")
                    write_file(file, f"{literal}\n".encode())
            done = self._run(["-Y", "sign", "-n", namespace, "-f", file, data], call, names=(*_KEPT, *_FOR_SIGNING))
            with os_errors(folder):
                if done.code == 0 and os.path.exists(f"{data}.sig"):
                    with open(f"{data}.sig", "rb") as signature:
                        # some programs end lines with CRLF
                        return signature.read(_LONGEST_KEY).replace(b"\r\n", b"\n")
        raise self._failed(done, "the agent's key" if literal is not None else key)

    def check(
        self, payload: bytes, signature: bytes, namespace: str, seconds: int, signers: Signers, call: Call
    ) -> Checked:
        """Checks an armored signature as of the signer's time (seconds since 1970), like git."""
        if not self._is_there():
            return Checked("unchecked", reason=f"{self.program} is not installed")
        with tempfile.TemporaryDirectory(prefix="snapd-verify-") as folder:
            file = os.path.join(folder, "signature")
            with os_errors(folder):
                write_file(file, signature)
            when = f"-Overify-time={time.strftime('%Y%m%d%H%M%S', time.localtime(seconds))}"
            refused: Finished | None = None
            for principal in self._principals(file, when, signers, call):
                words = ["verify", "-n", namespace, "-f", signers.allowed or "", "-I", principal, "-s", file, when]
                done = self._verify(words, payload, call)
                if done.code:
                    refused = done
                elif signers.revoked is None or not self._verify([*words, "-r", signers.revoked], payload, call).code:
                    return Checked("good", principal)
                else:
                    # ssh-keygen gives no reason
                    return Checked("bad", reason="its key was revoked, or your file of revoked keys cannot be read")
            done = self._verify(["check-novalidate", "-n", namespace, "-s", file, when], payload, call)
        if done.code == 0:
            return Checked("unknown", reason=_why_unknown(refused, signers))
        if "usage:" in done.stderr:
            return Checked("unchecked", reason=f"{self.program} is too old to check it")
        return Checked("bad", reason="it does not fit what it came with")

    def _principals(self, file: str, when: str, signers: Signers, call: Call) -> list[str]:
        """Returns whose key made a signature, according to the user's file of allowed signers."""
        if signers.allowed is None:
            return []
        done = self._verify(["find-principals", "-f", signers.allowed, "-s", file, when], b"", call)
        lines = done.out.decode("utf-8", "replace").splitlines() if done.code == 0 else []
        return [line.strip() for line in lines if line.strip()][:_MOST_PRINCIPALS]

    def _verify(self, words: Sequence[str], payload: bytes, call: Call) -> Finished:
        return self._run(["-Y", *words], call, data=payload, bounds=_BOUNDS)

    def _run(
        self,
        words: Sequence[str],
        call: Call,
        *,
        data: bytes = b"",
        names: Sequence[str] = _KEPT,
        bounds: Bounds | None = None,
    ) -> Finished:
        environment = {name: self.environment[name] for name in names if name in self.environment}
        # nobody can enter a passphrase
        environment |= {"LC_ALL": "C", "SSH_ASKPASS_REQUIRE": "never"}
        process = start([self.program, *words], "/", environment, bounds, "install OpenSSH")
        return finished(process, data, call, _BOUNDS.output_bytes)

    def _is_there(self) -> bool:
        return shutil.which(self.program, path=self.environment.get("PATH")) is not None

    def _check_there(self) -> None:
        if not self._is_there():
            raise SigningFailed(
                f"{self.program}, which signs with ssh keys, is not installed",
                hint="install OpenSSH, or put it on the PATH of the daemon",
                reason="noProgram",
            )

    def _failed(self, done: Finished, key: str) -> SigningFailed:
        stderr = _CONTROL.sub(" ", done.stderr).strip()
        if "passphrase" in stderr.lower():
            return SigningFailed(
                f"{key} has a passphrase, which snapd cannot ask for",
                hint="add the key to an ssh agent ('ssh-add'), and start the daemon with SSH_AUTH_SOCK set",
                reason="passphrase",
            )
        if "usage:" in stderr:
            return SigningFailed(
                f"{self.program} is too old to sign", hint="install OpenSSH 8.2 or later", reason="noProgram"
            )
        return SigningFailed(
            f"{key} could not sign: {stderr or f'{self.program} ended with {done.code}'}", reason="noKey"
        )


@attrs.frozen
class Signers:
    """Absolute paths of the files of allowed signers and of revoked keys; None for no allowed or no revoked keys."""

    allowed: str | None = None
    revoked: str | None = None


def literal_key(key: str) -> str | None:
    """Returns the public key that was given in place of a path; None for a path."""
    match = _LITERAL.fullmatch(key.strip())
    return None if match is None else match[1]


def public_key(key: str) -> bytes | None:
    """Returns the bytes of the public key for a `key` of `SshKeygen.sign`; None if no file or literal shows it."""
    literal = literal_key(key)
    for path in () if literal is not None else (key, f"{key}.pub"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                literal = literal or literal_key(file.read(_LONGEST_KEY))
        except OSError:
            # ssh-keygen will report an unusable key
            continue
    try:
        return None if literal is None else base64.b64decode(literal.split()[1], validate=True)
    except binascii.Error:
        return None


def _why_unknown(refused: Finished | None, signers: Signers) -> str:
    if signers.allowed is None:
        return "gpg.ssh.allowedSignersFile of your git says nothing, so no key is known"
    if refused is None:
        return "the key is not among your allowed signers, or was not at that time"
    line = next(iter(refused.stderr.splitlines()), "")
    return f"your allowed signers do not have the key for this: {_CONTROL.sub(' ', line).rpartition(': ')[2].strip()}"


def write_file(path: str, data: bytes) -> None:
    """Writes a whole file."""
    with open(path, "wb") as file:
        file.write(data)
