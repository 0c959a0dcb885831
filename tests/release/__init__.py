"""What `make release` builds, each used as somebody who has nothing else: no checkout, no network, no Python."""

import pytest

pytestmark = pytest.mark.release
