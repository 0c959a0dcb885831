"""What the core needs of the rooms that touch the disk; `store` and `worktree` provide it."""
