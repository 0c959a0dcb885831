"""What goes wrong in systems of this kind, one test each; README.md says which test holds which hazard, and how."""

import pytest

pytestmark = pytest.mark.slow
