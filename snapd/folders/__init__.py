"""Which folder is meant, and which history is its own."""
