"""Pure rules: git's ignore patterns, and which snapshots to keep."""
