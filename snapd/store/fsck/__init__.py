"""Checks a store, each object against its id and each reference for its target, and repairs it from other sources."""
