"""The work tree as it was last seen, in memory and on disk."""
