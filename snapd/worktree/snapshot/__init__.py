"""Captures the work tree: finds what changed, reads it, and computes the tree."""
