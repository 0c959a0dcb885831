import pytest

pytestmark = pytest.mark.neovim
