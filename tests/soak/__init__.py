"""Soak: agents, editors, a user, maintenance and kills on one daemon, with everything checked as it goes."""

import pytest

pytestmark = pytest.mark.slow
