"""Undoes and redoes steps and operations."""
