"""Reads the list of rules about secrets, once, when somebody first asks for it."""

from __future__ import annotations

import functools
import tomllib
from importlib import resources

from snapd.model.secrets import SecretRules


@functools.cache
def secret_rules() -> SecretRules:
    """The rules that snapd brings."""
    text = resources.files(__package__).joinpath("rules.toml").read_text("utf-8")
    return SecretRules.parse(tomllib.loads(text))
