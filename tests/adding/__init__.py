"""Adds a method, a command, an agent and an error to a copy of the checkout, by the steps of CONTRIBUTING.md alone."""

import pytest

pytestmark = pytest.mark.slow
