"""The program `snapd`, also `python -m snapd`: runs a hook directly, and any other command by the command line."""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Runs the command of this process and returns its exit code; a hook ends the process itself."""
    words = sys.argv[1:]
    if "PYTHONPATH" in os.environ and not sys.flags.ignore_environment:
        # not started by `scripts/snapd`, and a project may have set this
        import site

        given = os.environ["PYTHONPATH"].split(os.pathsep)
        library = os.path.dirname(os.__file__)
        program = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        own = {library, os.path.join(library, "lib-dynload"), program}
        sys.path[:] = [path for path in sys.path if path in own or path not in given]
        # `site` adds the package directories and those of their .pth files again, in case the variable named them
        site.main()
    if words[:1] == ["hook"] and not {"-h", "--help"}.intersection(words):
        # the agent waits: load nothing else, and skip the interpreter's shutdown; a hook leaves nothing unwritten
        from snapd.hook.main import main as hook

        os._exit(hook(*words[1:2]))
    import gc

    # modules stay loaded, so collections during imports find no garbage
    gc.disable()
    from snapd.cli.main import main as command

    gc.enable()
    code = command()
    # the process ends: collections would only delay that
    gc.freeze()
    return code


if __name__ == "__main__":
    sys.exit(main())
