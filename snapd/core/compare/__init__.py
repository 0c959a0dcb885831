"""Compares snapshots, files and texts."""
