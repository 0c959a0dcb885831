"""Programs for work on the project: none of them is installed."""
