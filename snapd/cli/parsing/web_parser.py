"""The parser of `snapd web`."""

from __future__ import annotations

import argparse

from .shared_options import common

PORT = 7627
"""SNAP on the keys of a telephone: always the same, so that links to a step can be kept."""


def add_web(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds it."""
    web = commands.add_parser(
        "web",
        parents=[common(alone=False)],
        help="serve a page with all of this to the browser, and an HTTP API",
        description="A page in the browser that shows sessions, steps and diffs live, and undoes them; and an HTTP API "
        "for programs. Only who has the token of the address that it prints gets an answer. It needs the extra "
        "snapd[web].",
    )
    web.add_argument(
        "--port",
        metavar="N",
        type=int,
        default=PORT,
        help=f"listen on this port (default: {PORT}; 0: any that is free)",
    )
    web.add_argument("--open", action="store_true", help="open the page in the browser")
    web.add_argument("--read-only", action="store_true", help="show everything, and refuse to change anything")
    web.add_argument("--json", action="store_true", help="print address and token as JSON, on one line")
    web.add_argument(
        "--host",
        metavar="H",
        default="127.0.0.1",
        help="listen on this address of the machine, for others too; needs --i-know, --cert and --key",
    )
    web.add_argument(
        "--i-know", action="store_true", help="let --host listen beyond this machine: whoever has the token can undo"
    )
    web.add_argument("--cert", metavar="FILE", help="the certificate for TLS, in PEM")
    web.add_argument("--key", metavar="FILE", help="the key of the certificate, in PEM")
