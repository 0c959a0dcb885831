"""Reads git-ai's notes in the project's git: who wrote the lines of its commits."""
