"""The exit codes of the command line.

They report what was done, whether or not it could be shown: a command that changes or checks something exits with the
same code when its output cannot be written. One that only shows something (`Command.shows`) has then done nothing.
"""

DONE = 0
FAILED = 1
"""The request was refused or failed, or the user said no; nothing was changed."""
USAGE = 2
"""The command's words, a setting or a hash are wrong."""
NOT_ALL = 3
"""Done, but not for every file: some were kept, skipped, in conflict, or failed."""
CANNOT_REACH = 4
"""The daemon cannot be started or reached."""
NOBODY_READS = 141
"""A command that only shows something lost its reader (128 plus SIGPIPE, as in git)."""
INTERRUPTED = 130
"""Ctrl-C."""
