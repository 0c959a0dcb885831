"""The settings: the table of all of them, where their values come from, and which of the values hold."""
