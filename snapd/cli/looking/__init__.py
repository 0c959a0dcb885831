"""The commands that show something of a folder, and change nothing."""
