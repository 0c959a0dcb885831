"""The timeline in the store: events as commits, which are the truth, and a database derived from them."""
