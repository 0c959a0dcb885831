"""The state of the work tree as of the last look, in memory and on disk."""
