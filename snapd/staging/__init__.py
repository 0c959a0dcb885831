"""Puts what steps changed into the git index of the project: all that snapd ever writes to a `.git`.

Git itself writes, by its own lock, and its filters make the blobs, as in `git add`. This runs in the program of whoever
asked for it, never in the daemon.
"""
