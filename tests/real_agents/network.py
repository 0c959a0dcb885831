"""Takes the network away from this process and all that it starts, except loopback."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import socket
import struct
from pathlib import Path

_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_SIOCGIFFLAGS = 0x8913
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1


class NoNamespace(Exception):
    """This machine gives us no network namespace; says why."""


def leave_network() -> None:
    """Moves this process, which must have one thread, into a network namespace that has loopback alone.

    Raises:
        NoNamespace: the system does not let us; everything is as before.
    """
    # some systems let us begin and then no further, and there is no way back
    child = os.fork()
    if child == 0:
        try:
            _leave()
            os._exit(0)
        except OSError as error:
            os._exit(error.errno or errno.EPERM)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code != 0:
        raise NoNamespace(os.strerror(code))
    _leave()


def _leave() -> None:
    user, group = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET if user == 0 else _CLONE_NEWNET | _CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    if user != 0:
        # we stay who we are: some agents refuse to work for root
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    _bring_up(b"lo")
    assert [name for _, name in socket.if_nameindex()] == ["lo"]


def _bring_up(name: bytes) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh14x", name, 0)
        _, flags = struct.unpack("16sh14x", fcntl.ioctl(any_socket, _SIOCGIFFLAGS, request))
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", name, flags | _IFF_UP))
