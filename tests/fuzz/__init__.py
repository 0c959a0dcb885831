"""Random and mutated input: frames, messages and params, judged by a model that shares no code with the daemon."""

import pytest

pytestmark = pytest.mark.slow
