"""The shadow repository: an ordinary bare git repository outside the user's own, and who may write to it."""
