"""The exit codes of the command line.

They say what was done, whether or not it could be shown: a command that changes or checks something ends with the same
code when its output goes nowhere. One that only shows something (`Command.shows`) has done nothing then.
"""

DONE = 0
FAILED = 1
"""The request was refused or went wrong, or the user said no; nothing was changed."""
USAGE = 2
"""The command's words, a setting or a hash are wrong."""
NOT_ALL = 3
"""Done, but not for every file: some were kept, skipped, in conflict, or failed."""
CANNOT_REACH = 4
"""The daemon cannot be started or reached."""
NOBODY_READS = 141
"""Of a command that only shows something: whoever read it went away (128 and SIGPIPE, as git has it)."""
INTERRUPTED = 130
"""Ctrl-C."""
