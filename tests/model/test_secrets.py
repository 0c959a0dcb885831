"""What is likely a secret: found in any surroundings, not shown, and never at the price of time or of an error."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapd.model.secrets import (
    MOST_BYTES,
    MOST_FINDINGS,
    STEP_BYTES,
    WIDEST_BYTES,
    Finding,
    Report,
    entropy,
)
from snapd.secret_rules.shipped import secret_rules
from tests.model.secret_examples import EXAMPLES, fill
from tests.support.amounts import amount
from tests.support.counting import calls_of

pytestmark = pytest.mark.slow

SEEDS = st.integers(0, 2**32)
LINES = st.lists(st.text(st.characters(exclude_characters="\0\r\n", exclude_categories=["Cs"])), max_size=4)
FOUND = [(name, template) for name, example in EXAMPLES.items() for template in example.found]
LEFT = [(name, template) for name, example in EXAMPLES.items() for template in example.left]

TOKEN = "token: gh`~`p_<A36>"


def look(data: bytes, path: str = "src/app.py") -> Report:
    return secret_rules().look(path.encode(), data)


def in_text(report: Report) -> list[str]:
    """The rules that found something in what a file holds."""
    return [finding.rule for finding in report.findings if finding.line is not None]


def token(seed: int = 1) -> bytes:
    return fill(TOKEN, random.Random(seed))[0]


def repeated(piece: bytes, size: int) -> bytes:
    return (piece * (size // len(piece) + 1))[:size]


# -- what the rules find


@pytest.mark.parametrize(("name", "template"), FOUND)
def test_what_a_rule_is_for_is_found(name: str, template: str) -> None:
    for seed in range(20):
        text, _ = fill(template, random.Random(seed))
        assert in_text(look(text, EXAMPLES[name].path)) == [name], text


@pytest.mark.parametrize(("name", "template"), LEFT)
def test_what_is_much_like_it_is_left_alone(name: str, template: str) -> None:
    for seed in range(20):
        text, _ = fill(template, random.Random(seed))
        assert in_text(look(text, EXAMPLES[name].path)) == [], text


@given(which=st.sampled_from(FOUND), before=LINES, behind=LINES, seed=SEEDS)
@settings(max_examples=amount(300, 5000), deadline=None)
def test_a_secret_is_found_wherever_it_stands_and_never_shown(
    which: tuple[str, str], before: list[str], behind: list[str], seed: int
) -> None:
    name, template = which
    text, parts = fill(template, random.Random(seed))
    head = "".join(line + "\n" for line in before).encode()
    data = head + text + b"\n" + "\n".join(behind).encode()
    report = look(data, EXAMPLES[name].path)
    (found,) = [finding for finding in report.findings if finding.rule == name]
    first = head.count(b"\n") + 1
    assert found.line is not None
    assert first <= found.line <= first + text.count(b"\n")
    shown = repr(report)
    assert len(found.begins) <= 4
    assert not [part for part in parts if len(part) > 4 and part[:5].decode() in shown]


@given(st.sampled_from(LEFT), LINES, SEEDS)
@settings(max_examples=amount(200, 3000), deadline=None)
def test_a_placeholder_is_none_in_any_surroundings(which: tuple[str, str], before: list[str], seed: int) -> None:
    name, template = which
    text, _ = fill(template, random.Random(seed))
    head = "".join(line + "\n" for line in before).encode()
    assert in_text(look(head + text + b"\n", EXAMPLES[name].path)) == []


@given(st.binary(max_size=2000), st.binary(max_size=40))
@settings(max_examples=amount(200, 5000), deadline=None)
def test_no_bytes_and_no_name_are_an_error(data: bytes, path: bytes) -> None:
    for finding in secret_rules().look(path, data).findings:
        assert finding.line is None or 1 <= finding.line <= data.count(b"\n") + 1


# -- what is said of it


def test_a_finding_says_what_it_is_and_where() -> None:
    text = token()
    assert look(b"one\ntwo\n" + text + b"\n").findings == (Finding("github-token", 3, "a token of GitHub", "ghp_"),)


def test_of_a_short_secret_nothing_is_shown() -> None:
    text, _ = fill('password = "<A4>7!q<A5>"', random.Random(3))
    (finding,) = look(text).findings
    assert finding == Finding("password-in-quotes", 1, "a password", "")


def test_findings_come_by_their_lines_whichever_rule_found_them() -> None:
    chance = random.Random(5)
    wanted = ["password-in-quotes", "github-token", "secret-in-quotes", "private-key"]
    data = b"\n".join(fill(EXAMPLES[name].found[0], chance)[0] for name in wanted)
    assert in_text(look(data)) == wanted


def test_what_two_rules_find_is_named_once_by_the_one_that_knows_more() -> None:
    text = b'api_token = "' + token().removeprefix(b"token: ") + b'"'
    assert in_text(look(text)) == ["github-token"]


def test_lines_may_end_as_on_windows() -> None:
    assert look(b"one\r\ntwo\r\n" + token() + b"\r\n").findings[0].line == 3


def test_a_secret_may_be_the_whole_file_or_end_it() -> None:
    bare = token().removeprefix(b"token: ")
    assert in_text(look(bare)) == ["github-token"]
    assert in_text(look(b"x" * 500 + b"\n" + bare)) == ["github-token"]


# -- what is not looked at, and is said


def test_of_a_large_file_the_beginning_is_looked_at() -> None:
    text = token()
    filler = b"a line\n" * (MOST_BYTES // 7)
    inside, beyond = look(text + b"\n" + filler + b"1234567"), look(filler + b"1234567\n" + text)
    assert in_text(inside) == ["github-token"]
    assert beyond.findings == ()
    assert beyond.notes == (f"only the first {MOST_BYTES} of {len(filler) + 8 + len(text)} bytes were looked at",)


def test_a_caller_may_give_the_beginning_alone() -> None:
    report = secret_rules().look(b"a.log", b"a line\n", size=10**12)
    assert report == Report((), ("only the first 7 of 1000000000000 bytes were looked at",))


def test_of_a_binary_file_the_name_is_looked_at() -> None:
    report = secret_rules().look(b"keys/id_rsa", b"\0" + token())
    assert [finding.rule for finding in report.findings] == ["ssh-private-key-file"]
    assert report.notes == ("it is binary: nothing but its name was looked at",)
    # as git has it: a NUL further behind makes no file binary
    assert in_text(look(b" " * 7999 + b"\0" + token())) == []
    assert in_text(look(b" " * 8000 + b"\0" + token())) == ["github-token"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "latin-1", "shift-jis"])
def test_the_encoding_does_not_matter(encoding: str) -> None:
    text = "one\n" + token().decode() + "\n"
    data = text.encode(encoding)
    if encoding == "utf-16-le":
        data = b"\xff\xfe" + data
    elif encoding == "utf-16-be":
        data = b"\xfe\xff" + data
    assert [(finding.rule, finding.line) for finding in look(data).findings] == [("github-token", 2)]


def test_half_of_a_character_at_the_end_is_no_error() -> None:
    assert look(b"\xff\xfea\0b").findings == ()


@pytest.mark.parametrize("name", ["github-token", "private-key", "json-web-token", "url-password"])
def test_no_secret_is_missed_where_a_long_text_is_cut(name: str) -> None:
    text, _ = fill(EXAMPLES[name].found[0], random.Random(1))
    # one window: long runs all the way
    filler = b"the1long2run3that4goes5on6 "
    for place in range(STEP_BYTES - len(text) - 60, STEP_BYTES + 60, 7):
        data = repeated(filler, place) + b"\n" + text + b"\n" + repeated(filler, WIDEST_BYTES)
        assert in_text(look(data)) == [name]


def test_of_very_many_findings_some_are_named() -> None:
    data = b"\n".join(token(seed) for seed in range(MOST_FINDINGS + 1))
    report = look(data)
    assert len(report.findings) == MOST_FINDINGS
    assert report.notes == (f"there are more than the {MOST_FINDINGS} findings that are named",)
    assert look(data[: data.rindex(b"\n")]).notes == ()


# -- files that a program wrote


@pytest.mark.parametrize("path", ["package-lock.json", "web/yarn.lock", "go.sum", "dist/app.min.js", "app.js.map"])
def test_files_full_of_hashes_are_left_alone(path: str) -> None:
    text, _ = fill('"secret": "<A12>7<A4>3q<A12>", "password": "<A4>7!q<A5>"', random.Random(1))
    assert in_text(look(text, "src/settings.json")) == ["secret-in-quotes", "password-in-quotes"]
    assert look(text, path).findings == ()
    # what has a form of its own is found there too
    assert in_text(look(token(), path)) == ["github-token"]


# -- names


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        (".env", "env-file"),
        ("api/.env.production", "env-file"),
        (".ENV", "env-file"),
        ("deploy/prod.env", "env-file"),
        (".ssh/id_ed25519", "ssh-private-key-file"),
        ("server.pem", "key-file"),
        ("release.keystore", "key-file"),
        ("_netrc", "netrc-file"),
        (".pgpass", "password-file"),
        (".git-credentials", "password-file"),
        (".aws/credentials", "cloud-credentials-file"),
        (".docker/config.json", "cloud-credentials-file"),
        ("my-service-account.json", "service-account-file"),
        ("client_secret_12-ab.apps.googleusercontent.com.json", "service-account-file"),
        ("terraform.tfstate", "secrets-file"),
        ("config/master.key", "key-file"),
        (".bash_history", "history-file"),
    ],
)
def test_some_names_say_enough(path: str, rule: str) -> None:
    (finding,) = secret_rules().look_at_name(path.encode())
    assert (finding.rule, finding.line, finding.begins) == (rule, None, "")


@pytest.mark.parametrize(
    "path",
    [
        *(".env.example", ".env.sample", ".env.local.template", "example.env", "id_rsa.pub", "environment.py", "env"),
        *("src/credentials.py", ".envoy", "keys.md", "secrets.yaml.enc", "config.json", ".npmrc", "monkey", "a.key/b"),
    ],
)
def test_other_names_say_nothing(path: str) -> None:
    assert secret_rules().look_at_name(path.encode()) == ()


def test_a_name_may_be_any_bytes() -> None:
    assert [finding.rule for finding in secret_rules().look_at_name(b"\xff\xfe/\xf0.pem")] == ["key-file"]


# -- entropy


def test_entropy_is_in_bits_a_byte() -> None:
    assert entropy(b"") == 0
    assert entropy(b"aaaa") == 0
    assert entropy(b"abab") == pytest.approx(1)
    assert entropy(bytes(range(256))) == pytest.approx(8)


# -- hostile input


KEYWORDS = sorted({word for rule in secret_rules().rules for word in rule.keywords})
STARTS = sorted({template.split("<")[0] for _, template in FOUND})
HOSTILE = [
    *(word * 20 for word in KEYWORDS),
    *(fill(start, random.Random(1))[0] for start in STARTS if start),
    *(b"t" * 20 + b" " + word for word in KEYWORDS),
    b"password=" * 3 + b"a" * 60,
    b"a" * 30,
    b"a.b-" * 10,
    b"://" + b"a" * 70 + b":" + b"b" * 99,
    b"-----BEGIN RSA PRIVATE KEY-----" + b"\n" * 60 + b"A: b\n" * 4,
    b"\\n" * 50 + b"-----BEGIN PRIVATE KEY-----",
    b'secret: a = "' + b"a1-" * 42,
]


@pytest.mark.parametrize("place", range(0, len(HOSTILE), 20))
@pytest.mark.parametrize("path", ["src/app.py", ".env", ".npmrc"])
def test_no_input_makes_the_work_grow_faster_than_the_input(place: int, path: str) -> None:
    # its calls do not tell how long a pattern takes: that the patterns have bounds is a test of their own
    def work(piece: bytes, size: int) -> int:
        return calls_of(lambda: look(repeated(piece, size), path))

    for piece in HOSTILE[place : place + 20]:
        assert work(piece, 40_000) <= 2.2 * work(piece, 20_000) + 200, piece


@pytest.mark.parametrize("piece", [b"password=", b"sk-", b"a1" * 40 + b" secret=", b"://a:", b"eyJaaaaaaaaaaaaaaaaaa."])
def test_a_large_hostile_file_comes_to_an_end(piece: bytes) -> None:
    # no limit but that of all tests: one pattern with a power in its time would need days
    assert len(look(repeated(piece, MOST_BYTES // 4)).findings) <= MOST_FINDINGS
