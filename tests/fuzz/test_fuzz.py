"""A short run of `make fuzz`, with the same examples each time."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from snapd.wire.methods import METHODS
from tests.fuzz.hostile import check_hostile
from tests.fuzz.parsers import NAMES, check_parser, parsers
from tests.fuzz.properties import check_corpus, check_framing, check_notifications, check_params, check_streams
from tests.support.amounts import amount

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fuzz.hostile import Hostile
    from tests.fuzz.target import Target

_COSTLY = {"snapshot/cleanup": 1}


def test_bytes_split_and_mutated_anywhere_are_read_as_the_model_reads_them() -> None:
    assert check_framing(100, random=False) > 50


def test_corpus(target: Target) -> None:
    assert check_corpus(target) >= 12


def test_mutated_sessions_get_one_answer_for_each_request(target: Target) -> None:
    check_streams(target, 40, random=False)


def test_notifications_of_any_shape_are_never_answered(target: Target) -> None:
    check_notifications(target, 40, random=False)


@pytest.mark.parametrize("method", METHODS)
def test_any_params_get_one_answer_that_the_method_is_said_to_give(target: Target, method: str) -> None:
    check_params(target, method, _COSTLY.get(method, amount(8, 100)), random=False)


@pytest.mark.parametrize("name", NAMES)
def test_whatever_others_wrote_is_read_in_time(tmp_path: Path, name: str) -> None:
    parser = parsers(tmp_path)[name]
    assert check_parser(parser, amount(20, 300), random.Random(1), amount(3 << 10, 128 << 10)) > 100


def test_what_a_remote_forges_is_refused_or_can_be_read(hostile: Hostile) -> None:
    check_hostile(hostile, amount(10, 80), random=False)
