"""`snapd serve`."""

from __future__ import annotations

import ipaddress
import os
import secrets
import sys
from typing import TYPE_CHECKING

from snapd.cli.exit_codes import DONE, FAILED
from snapd.cli.parsing.command import Command
from snapd.environment import spool_directory
from snapd.heap import frozen_objects, share_among_threads
from snapd.locations import Locations
from snapd.model.errors import InvalidParams

if TYPE_CHECKING:
    import argparse

    from snapd.cli.parsing.usage import Parser
    from snapd.daemon import Options
    from snapd.settings.in_force import Base


def _arguments(parser: Parser) -> None:
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--stdio", action="store_true", help="serve one client on standard input and output")
    way.add_argument("--socket", metavar="PATH", help="the Unix socket to serve (default: the user's own)")
    way.add_argument("--tcp", metavar="HOST:PORT", help="serve TCP; clients need a token")
    parser.argument("--token-file", "PATH", "the file that holds the token for --tcp")
    parser.flag("--allow-remote", help="let --tcp listen beyond the loopback interface")
    parser.argument(
        "--idle-exit",
        "SECONDS",
        "end after this long without a client (default: 1800; 0: never)",
        type=float,
        default=1800.0,
    )
    parser.argument("--max-message", "BYTES", "refuse longer messages (default: 64 MiB)", type=int, default=64 << 20)


@Command(
    "serve",
    "snapd itself",
    _arguments,
    without_json="it speaks the protocol itself",
    example="serve --idle-exit 0",
    plays=False,
)
def serve(options: argparse.Namespace) -> int:
    """Run the daemon in the foreground."""
    from snapd.classes_later import classes_later

    share_among_threads()
    with frozen_objects(), classes_later():
        from snapd.rpc.transport.streams import take_stdout

        # before anything can print, even during an import: standard output belongs to the protocol
        stdout = take_stdout() if options.stdio else -1
        from snapd.settings.in_force import Base, SettingsFile
        from snapd.settings.sources import read_environment

        # before the daemon is imported, which takes a second, so that the user's mistakes are reported at once
        locations = Locations.from_environment(os.environ)
        # its own environment counts, since only a person who starts it by hand sets these variables
        base = Base(SettingsFile(locations.config_file), read_environment(os.environ))
        tcp = _tcp(options, locations) if options.tcp else None
        from snapd.daemon import configure_logging, raise_descriptor_limit
    configure_logging(f"{_socket(options, locations)}.log")
    raise_descriptor_limit()
    settings = _options(options, locations, base)
    if options.stdio:
        return _serve_stdio(settings, stdout)
    if tcp is not None:
        return _serve_tcp(tcp, settings)
    return _serve_socket(options, settings)


def _options(options: argparse.Namespace, locations: Locations, base: Base) -> Options:
    from snapd.daemon import Options
    from snapd.workspaces import current_umask

    return Options(
        locations=locations,
        base=base,
        xdg_config_home=os.environ.get("XDG_CONFIG_HOME"),
        umask=current_umask(),
        idle_seconds=options.idle_exit or None,
        max_message_bytes=options.max_message,
    )


def _serve_stdio(settings: Options, stdout: int) -> int:
    from snapd.daemon import Daemon, run

    return run(lambda: Daemon(settings, None).serve_stdio(0, stdout))


def _serve_socket(options: argparse.Namespace, settings: Options) -> int:
    from snapd.daemon import AlreadyRunning, Daemon, run

    if options.socket is None:
        settings.locations.make_runtime()
    path = _socket(options, settings.locations)

    if os.path.lexists(spool_directory(settings.locations.data)):
        from snapd.hook.spool import start_replay

        # waits until the daemon listens
        start_replay(os.environ)

    async def main() -> int:
        await Daemon(settings, path).serve_socket()
        return DONE

    try:
        return run(main)
    except AlreadyRunning:
        print(f"snapd: a daemon already serves {path}\nhint: 'snapd stop' ends it", file=sys.stderr)
        return FAILED


def _socket(options: argparse.Namespace, locations: Locations) -> str:
    return os.path.abspath(options.socket) if options.socket else locations.socket


def _tcp(options: argparse.Namespace, locations: Locations) -> tuple[str, int, str]:
    host, port = address(options.tcp, options.allow_remote)
    return host, port, _token(options.token_file, locations)


def _serve_tcp(tcp: tuple[str, int, str], settings: Options) -> int:
    from snapd.daemon import Daemon, run

    async def main() -> int:
        await Daemon(settings, None).serve_tcp(*tcp, _announce)
        return DONE

    return run(main)


def _announce(host: str, port: int) -> None:
    shown = f"[{host}]" if ":" in host else host
    print(f"listening on {shown}:{port}", flush=True)


def address(text: str, allow_remote: bool) -> tuple[str, int]:
    """Parses the host and port of `--tcp`."""
    host, colon, port = text.rpartition(":")
    host = host.strip("[]")
    if not colon or not host or not port.isdigit() or int(port) > 65535:
        raise InvalidParams("--tcp: expected HOST:PORT", hint="for example 127.0.0.1:7000", field="--tcp")
    if host != "localhost" and not allow_remote:
        try:
            loopback = ipaddress.ip_address(host).is_loopback
        except ValueError:
            loopback = False
        if not loopback:
            raise InvalidParams(
                f"--tcp: {host} is not the loopback interface",
                hint="add --allow-remote to let other machines connect",
                field="--tcp",
            )
    return host, int(port)


def _token(path: str | None, locations: Locations) -> str:
    """Returns the token of `--token-file` or `SNAPD_TOKEN`, else a new one, written to a private file for clients."""
    if path is not None:
        try:
            with open(path, encoding="utf-8") as file:
                token = file.read().strip()
        except (OSError, UnicodeDecodeError) as error:
            text = error.strerror if isinstance(error, OSError) else "it is no text"
            hint = "name a file that holds the token and that you may read"
            raise InvalidParams(f"--token-file: {path}: {text}", hint=hint, field="--token-file") from error
    else:
        token = os.environ.get("SNAPD_TOKEN", "").strip()
    if token:
        return token
    if path is not None:
        hint = "write a token into it, or leave out --token-file to generate one"
        raise InvalidParams(f"--token-file: {path} is empty", hint=hint, field="--token-file")
    from snapd.store.files.durable import write_file

    locations.make_runtime()
    token = secrets.token_urlsafe(32)
    write_file(os.path.join(locations.runtime, "token"), token.encode())
    return token
