"""The commands that agents and editors start."""
