"""The user's own git repository, read as data: nothing of it is executed or believed without a check."""
