"""The products whose undo is tried, one module each."""
