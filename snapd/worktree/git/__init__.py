"""The user's own git repository, read as untrusted data: nothing in it is executed."""
