"""`python -m snapd`: the command line."""

import sys

from snapd.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
