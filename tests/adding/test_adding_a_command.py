"""A command is one file, and what is generated."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .checkout import Checkout

CODE = '''"""`snapd count-sessions`: how many sessions the folder has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.cli.exit_codes import DONE
from snapd.cli.parsing.command import Answer, Command, common
from snapd.cli.requests.connection import ask, open_backend
from snapd.cli.terminal.output import print_json

if TYPE_CHECKING:
    import argparse
    from typing import Annotated


class SessionCount(Answer):
    """How many sessions the folder has."""

    session_count: Annotated[int, "All of them, ended ones too."]


@Command("count-sessions", "look closer", common, answer="SessionCount", example="count-sessions", shows=True)
def count_sessions(options: argparse.Namespace) -> int:
    """Count the sessions of the folder."""
    with open_backend(options) as backend:
        count = len(ask(backend, "session/list", {})["sessions"])
    if options.json:
        print_json({"sessionCount": count})
    else:
        print(count)
    return DONE
'''


def test_a_command_is_one_file(checkout: Checkout) -> None:
    checkout.write("snapd/cli/commands/count_sessions.py", CODE)
    checkout.generate()

    assert len(checkout.touched) == 1
    assert "  count-sessions  count the sessions of the folder\n" in checkout.snapd("help", "--all")
    assert json.loads(checkout.snapd("count-sessions", "--json", "--no-daemon")) == {"sessionCount": 0}
    schema = json.loads(checkout.read("docs/cli.schema.json"))
    assert schema["$defs"]["SessionCount"]["properties"]["sessionCount"]["type"] == "integer"
