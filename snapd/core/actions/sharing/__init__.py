"""What clients ask for about other machines: pushing sessions, fetching them, and taking in what they changed."""
