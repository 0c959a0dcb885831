"""The state of the user's git besides files: recorded with events, compared, and its objects kept."""
