"""What `make release` builds, each used on a machine that has nothing else: no checkout, no network, no Python."""

import pytest

pytestmark = pytest.mark.release
