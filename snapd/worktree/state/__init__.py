"""The state of the work tree as of the last scan, in memory and on disk."""
