"""The references of a shadow repository."""
