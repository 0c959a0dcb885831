"""`snapd web` as a command: how it begins, how it ends, and what it refuses."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.running import Home
from tests.rpc.machine import wait_until

from .browser import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.rpc.machine import Machine

    from .conftest import World


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_in_order(world: World, number: signal.Signals) -> None:
    """Also while streams are open, which never end by themselves; and its port is free then."""
    web = world.serve()
    with socket.create_connection(("127.0.0.1", web.port), PATIENCE) as connection:
        head = f"GET /events HTTP/1.1\r\nHost: {web.host}\r\nAuthorization: Bearer {web.token}\r\n\r\n"
        connection.sendall(head.encode())
        assert connection.recv(12) == b"HTTP/1.1 200"
        web.process.send_signal(number)
        came = connection.makefile("rb").read()
    # told as the end, not cut off
    assert came.endswith(b"\r\n0\r\n\r\n")
    assert world.machine.exit_code(web.process) == 0
    with socket.create_server(("127.0.0.1", web.port)):
        pass


def test_what_it_prints(world: World) -> None:
    words = ("web", "-C", str(world.folder), "--here", "--port", "0")
    process = world.machine.start(*words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert process.stdout is not None
    url = process.stdout.readline().decode().strip()
    address, _, token = url.partition("/#token=")
    host, _, port = address.removeprefix("http://").partition(":")
    assert host == "127.0.0.1"
    with urllib.request.urlopen(f"{address}/", timeout=PATIENCE) as page:
        assert page.status == 200
    asked = urllib.request.Request(f"{address}/session", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
        assert "sessions" in json.load(answer)
    # nobody else is let in
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", int(port)), PATIENCE)
    process.terminate()
    assert world.machine.exit_code(process) == 0
    assert process.stdout.read() == b""
    process.stdout.close()


def test_every_start_has_a_token_of_its_own(world: World) -> None:
    tokens = [world.serve().token for _ in range(2)]
    assert tokens[0] != tokens[1]
    assert all(len(token) >= 43 for token in tokens)


def test_a_port_that_is_taken(world: World) -> None:
    web = world.serve()
    done = world.machine.run("web", "-C", str(world.folder), "--here", "--port", str(web.port))
    assert done.returncode == 1
    assert f"port {web.port} is taken" in done.stderr
    assert "--port 0" in done.stderr
    assert done.stdout == ""
    assert web.get("/session").status == 200


def test_the_browser_is_told_by_a_private_file(machine: Machine, world: World, tmp_path: Path) -> None:
    """Others can read the words of every command on the machine: the token is in none of them."""
    script, told = tmp_path / "browser", tmp_path / "told"
    script.write_text(f'#!/bin/sh\nprintf %s "$1" > {told}.new\nmv {told}.new {told}\n')
    script.chmod(0o755)
    web = world.serve("--open", env={"BROWSER": f"{script} %s"})
    wait_until(told.exists, "the browser")
    address = told.read_text()
    assert web.token not in address
    assert address.startswith("file://")
    file = Path(address.removeprefix("file://"))
    assert file.parent == machine.runtime
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert f"url={web.url}/#token={web.token}" in file.read_text()
    web.process.terminate()
    assert machine.exit_code(web.process) == 0
    assert not file.exists()


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    made = Home()
    made.project("p", {"a.txt": b"a\n"})
    yield made
    made.close()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The files of a certificate for 127.0.0.1, and of its key."""
    openssl = shutil.which("openssl")
    assert openssl, "the tests need openssl"
    folder = tmp_path_factory.mktemp("tls")
    cert, key = str(folder / "cert.pem"), str(folder / "key.pem")
    kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    name = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1,IP:127.0.0.2"]
    subprocess.run([openssl, "req", *kind, *name, "-out", cert, "-keyout", key], check=True, capture_output=True)
    return cert, key


@pytest.mark.parametrize(
    ("words", "field", "said"),
    [
        ("--port 65536", "--port", "65536"),
        ("--port -1", "--port", "-1"),
        ("--host 0.0.0.0", "--host", "not the loopback"),
        ("--host 192.0.2.1", "--host", "not the loopback"),
        ("--host box.example", "--host", "not the loopback"),
        ("--host ::", "--host", "not the loopback"),
        ("--host 192.0.2.1 --i-know", "--cert", "TLS"),
        ("--host 0.0.0.0 --i-know --cert {cert} --key {key}", "--host", "not a name of this machine"),
        ("--host :: --i-know --cert {cert} --key {key}", "--host", "not a name of this machine"),
        ("--cert {cert}", "--key", "missing"),
        ("--key {key}", "--cert", "missing"),
        ("--cert {key} --key {cert}", "--cert", "cannot be used"),
        ("--cert /nowhere --key /nowhere", "--cert", "cannot be used"),
    ],
)
def test_options_that_do_not_go_together(
    home: Home, certificate: tuple[str, str], words: str, field: str, said: str
) -> None:
    cert, key = certificate
    done = home.run(home.at("p"), "web", "--json", *words.format(cert=cert, key=key).split())
    assert (done.code, done.err) == (2, "")
    assert done.json["error"]["field"] == field
    assert said in done.json["error"]["message"]
    assert done.json["error"]["hint"]


def test_an_address_that_is_not_this_machine(home: Home, certificate: tuple[str, str]) -> None:
    cert, key = certificate
    words = ("--host", "192.0.2.1", "--i-know", "--cert", cert, "--key", key)
    done = home.run(home.at("p"), "web", *words)
    assert done.code == 1
    assert "cannot listen on 192.0.2.1" in done.err


def test_beyond_the_machine_it_speaks_tls(world: World, certificate: tuple[str, str]) -> None:
    """By an address of the loopback interface, for want of another; `Host` is checked against just that."""
    cert, key = certificate
    process = world.start("--host", "127.0.0.2", "--cert", cert, "--key", key, "--i-know")
    assert process.stdout is not None
    told = json.loads(process.stdout.readline())
    address = told["url"].partition("/#")[0]
    assert address.startswith("https://127.0.0.2:")
    trusting = ssl.create_default_context(cafile=cert)

    def status(host: str | None) -> int:
        headers = {"Authorization": f"Bearer {told['token']}", **({} if host is None else {"Host": host})}
        try:
            with urllib.request.urlopen(
                urllib.request.Request(f"{address}/session", headers=headers), timeout=PATIENCE, context=trusting
            ) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            with error:
                return error.code

    port = address.rpartition(":")[2]
    assert status(None) == 200
    assert status(f"evil.example:{port}") == 421
    with pytest.raises(OSError, match=r"reset|refused|closed|Remote"):
        urllib.request.urlopen(address.replace("https", "http"), timeout=PATIENCE)


def test_a_folder_that_is_refused(home: Home) -> None:
    done = home.run("/", "web", "--here", "--port", "0")
    assert (done.code, done.out) == (1, b"")
    assert "hint: " in done.err
