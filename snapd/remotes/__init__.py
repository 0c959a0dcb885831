"""Other machines, reached by git: addresses, the git program, and what it says when that fails."""
