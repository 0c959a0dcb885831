"""Pure rules: git's ignore patterns, which snapshots to keep, and what is likely a secret."""
