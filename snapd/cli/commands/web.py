"""`snapd web`, the page in the browser and the HTTP API; and `snapd ui`, the terminal view."""

from __future__ import annotations

import contextlib
import html
import ipaddress
import json
import os
import sys
import threading
from typing import TYPE_CHECKING

from snapd.cli.exit_codes import DONE
from snapd.cli.parsing.command import Answer, Command, common
from snapd.cli.requests.connection import connected, folder_of
from snapd.locations import Locations
from snapd.model.errors import InvalidParams

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator
    from typing import Annotated

    from snapd_client import Client

    from snapd.backend import RemoteBackend
    from snapd.cli.parsing.usage import Parser


_PORT = 7627
"""SNAP on a telephone keypad. Always the same, so that links to a step stay valid."""


class Address(Answer):
    """Where `web` serves. It is printed once requests are answered."""

    url: Annotated[str, "The address for the browser, with the token in its fragment."]
    token: Annotated[str, "What programs send as `Authorization: Bearer TOKEN`."]


def _web_arguments(parser: Parser) -> None:
    common(parser, alone=False)
    parser.argument(
        "--port", "N", f"listen on this port (default: {_PORT}; 0: any that is free)", type=int, default=_PORT
    )
    parser.flag("--open", help="open the page in the browser")
    parser.flag("--read-only", help="show everything, and refuse to change anything")
    parser.flag("--json", help="print address and token as JSON, on one line")
    parser.argument(
        "--host",
        "H",
        "listen on this address of the machine, for others too; needs --i-know, --cert and --key",
        default="127.0.0.1",
    )
    parser.flag("--i-know", help="let --host listen beyond this machine: anyone with the token can undo")
    parser.argument("--cert", "FILE", "the certificate for TLS, in PEM")
    parser.argument("--key", "FILE", "the key of the certificate, in PEM")


@Command("web", "look closer", _web_arguments, answer="Address", example="web --open", plays=False)
def web(options: argparse.Namespace) -> int:
    """Serve a page with all of this to the browser, and an HTTP API.

    A page in the browser that shows sessions, steps and diffs live, and undoes them; and an HTTP API for
    programs. It answers only requests with the token from the address that it prints.
    """
    from snapd.web.server import Options, serve

    if not 0 <= options.port <= 65535:
        raise InvalidParams(f"--port: expected a number from 0 to 65535, got {options.port}", field="--port")
    certificate = _check_host(options)
    folder = folder_of(options)

    def connect_to(named: str) -> Callable[[], tuple[RemoteBackend, Client]]:
        return lambda: connected(options.socket, named, None, only_open=named != folder)

    with contextlib.ExitStack() as until_the_end:

        def ready(url: str, token: str) -> None:
            print(json.dumps({"url": url, "token": token}) if options.json else url, flush=True)
            if options.open:
                until_the_end.enter_context(_opened(url, Locations.from_environment(os.environ)))

        host = options.host.strip("[]")
        serve(Options(folder, host, options.port, options.read_only, certificate), connect_to, ready)
    return DONE


def _check_host(options: argparse.Namespace) -> tuple[str, str] | None:
    """Raises `InvalidParams` if other machines could reach the server without permission and TLS."""
    certificate = _certificate(options)
    if _is_loopback(options.host):
        return certificate
    if not options.i_know:
        raise InvalidParams(
            f"--host: {options.host} is not the loopback interface",
            hint="anyone with the token can see and undo everything; if you want that, add --i-know, --cert and --key",
            field="--host",
        )
    if certificate is None:
        raise InvalidParams(
            "--host: on other addresses, the server speaks only TLS", hint="add --cert and --key", field="--cert"
        )
    with contextlib.suppress(ValueError):
        if ipaddress.ip_address(options.host.strip("[]")).is_unspecified:
            raise InvalidParams(
                f"--host: {options.host} is not a name of this machine",
                hint="give the one address or name that browsers use for this machine",
                field="--host",
            )
    return certificate


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def _certificate(options: argparse.Namespace) -> tuple[str, str] | None:
    if options.cert is None and options.key is None:
        return None
    if options.cert is None or options.key is None:
        missing = "--cert" if options.cert is None else "--key"
        raise InvalidParams(f"{missing}: is missing", hint="TLS needs --cert and --key", field=missing)
    import ssl

    try:
        # without a password, openssl asks on the terminal
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(options.cert, options.key, lambda: "")
    except (OSError, ValueError) as error:
        raise InvalidParams(
            f"--cert, --key: they cannot be used: {error}",
            hint="give a certificate and its key, in PEM, the key without a password",
            field="--cert",
        ) from error
    return options.cert, options.key


@contextlib.contextmanager
def _opened(url: str, locations: Locations) -> Iterator[None]:
    """Opens a URL in the browser through a file that only the user can read: command lines are public."""
    import webbrowser
    from pathlib import Path

    locations.make_runtime()
    path = os.path.join(locations.runtime, f"web-{os.getpid()}.html")
    shown = html.escape(url)
    # replaces what an earlier process with this id left
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with open(os.open(path, flags, 0o600), "w", encoding="utf-8") as file:
        file.write(
            f'<!doctype html>\n<meta http-equiv="refresh" content="0; url={shown}">\n<a href="{shown}">snapd</a>\n'
        )

    def open_it() -> None:
        if not webbrowser.open(Path(path).as_uri()):
            print("snapd: no browser was found: open the address yourself", file=sys.stderr)

    # it may wait for the browser to end
    threading.Thread(target=open_it, name="snapd-web-open", daemon=True).start()
    try:
        yield
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


@Command(
    "ui",
    "look closer",
    lambda parser: common(parser, alone=False),
    without_json="it draws on the terminal",
    example="ui",
    plays=False,
)
def ui(options: argparse.Namespace) -> int:
    """See sessions, steps and diffs live, and undo by key.

    A terminal view of sessions, steps, files and hunks, and of changes to review.
    """
    if not (os.isatty(0) and os.isatty(2)):
        raise InvalidParams("the terminal view needs a terminal", hint="'snapd log' prints the same", field="ui")

    from snapd.cli.ui.app import Link, TerminalView

    link = Link(options.socket, folder_of(options))
    if options.color == "never":
        # textual reads this variable
        os.environ["NO_COLOR"] = "1"
    elif options.color == "always":
        os.environ.pop("NO_COLOR", None)
    TerminalView(link).run()
    return DONE
