"""The disk usage of a user's stores."""
