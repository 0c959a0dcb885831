"""The shadow repository, an ordinary bare git repository outside the user's own, and the right to write to it."""
