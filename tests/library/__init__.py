"""Tests of the library."""

import pytest

pytestmark = pytest.mark.slow
