"""The check of a store: every object against its name, everything that is named, and what a repair can get back."""
