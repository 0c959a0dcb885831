"""Finds the folder that a caller means, and its history."""
