"""Notes of git-ai in the project's git, read as data: who wrote the lines that commits brought."""
