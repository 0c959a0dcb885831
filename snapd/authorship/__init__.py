"""Exports who wrote the lines of git commits, in the formats of other tools."""
