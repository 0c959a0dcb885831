"""Reads the built-in rules, once."""

from __future__ import annotations

import functools
import tomllib
from importlib import resources

from snapd.model.secrets import SecretRules


@functools.cache
def secret_rules() -> SecretRules:
    """Returns the built-in rules."""
    text = resources.files(__package__).joinpath("rules.toml").read_text("utf-8")
    return SecretRules.parse(tomllib.loads(text))
