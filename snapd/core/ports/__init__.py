"""The interfaces through which the core uses the disk; `store` and `worktree` implement them."""
