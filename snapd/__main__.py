"""The program `snapd`, also `python -m snapd`: an agent's hook at once, any other command by the command line."""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Runs the command of this process; returns its exit code, or ends the process itself if the command is a hook."""
    words = sys.argv[1:]
    if "PYTHONPATH" in os.environ and not sys.flags.ignore_environment:
        # `scripts/snapd` did not start it, and a project may have set this
        import site

        given = os.environ["PYTHONPATH"].split(os.pathsep)
        library = os.path.dirname(os.__file__)
        program = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        own = {library, os.path.join(library, "lib-dynload"), program}
        sys.path[:] = [path for path in sys.path if path in own or path not in given]
        # site adds what the variable may have named before it: where packages are, and what their .pth files name
        site.main()
    if words[:1] == ["hook"] and not {"-h", "--help"}.intersection(words):
        # an agent waits for it: nothing else is loaded, and nothing is taken down. A hook leaves nothing unwritten
        from snapd.hook.main import main as hook

        os._exit(hook(*words[1:2]))
    import gc

    # what is loaded here stays, and the collector would only look for garbage in it
    gc.disable()
    from snapd.cli.main import main as command

    gc.enable()
    code = command()
    # nor is there anything to be gained from collections now: the process ends, and takes longer for them
    gc.freeze()
    return code


if __name__ == "__main__":
    sys.exit(main())
