"""The exit codes of the command line."""

DONE = 0
FAILED = 1
"""The request was refused or went wrong; nothing was changed."""
USAGE = 2
"""The command's words, a setting or a hash are wrong."""
NOT_ALL = 3
"""Done, but not for every file: some were kept, skipped, in conflict, or failed. Or nothing was done, as asked."""
CANNOT_REACH = 4
"""The daemon cannot be started or reached."""
INTERRUPTED = 130
"""Ctrl-C."""
