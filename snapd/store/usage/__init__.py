"""What uses the space of the stores of a user."""
