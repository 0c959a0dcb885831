"""What clients can do: one module for each family of requests."""
