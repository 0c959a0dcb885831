"""Stages the changes of steps in the project's git index: the only thing that snapd ever writes to a `.git`.

Git itself writes, under its own lock, and its filters make the blobs, as in `git add`. This runs in the caller's
process, never in the daemon.
"""
