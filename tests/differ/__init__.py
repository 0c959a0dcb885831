"""Tests of the process that compares texts."""

import pytest

pytestmark = pytest.mark.slow
