"""Reaches other machines through git: addresses, the git program, and its errors."""
