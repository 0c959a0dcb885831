"""Tests of the pure core."""

import pytest

pytestmark = pytest.mark.thorough
