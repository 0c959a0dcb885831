"""Applies a plan to the work tree, and cleans up after an interrupted one."""
