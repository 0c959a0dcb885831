"""Other machines, put together: the store's copies, what the project's git knows, and the git program."""
