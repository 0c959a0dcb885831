"""Output in a terminal, and questions to the user."""
