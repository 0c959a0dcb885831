"""What clients ask for: one module for each family of requests."""
