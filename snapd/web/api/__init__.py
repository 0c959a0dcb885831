"""The HTTP API: its routes, what they take, and what they answer."""
