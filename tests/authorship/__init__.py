"""Tests of the formats in which snapd says who wrote the lines of commits."""

import pytest

pytestmark = pytest.mark.slow
