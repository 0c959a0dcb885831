"""Tests of the clients that speak to snapd over its wire contract."""

import pytest

pytestmark = pytest.mark.slow
