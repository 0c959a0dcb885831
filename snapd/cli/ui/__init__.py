"""The terminal view: a client of the daemon that shows sessions, steps, files and hunks, and stays up to date."""
