"""Repositories between this store and other machines: what goes out, what came in, and what is believed of that."""
