"""Folders outside of the work tree that get the files of a snapshot."""
