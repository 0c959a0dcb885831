"""Tests of reading git-ai notes."""

import pytest

pytestmark = pytest.mark.slow
