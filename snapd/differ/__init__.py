"""Compares texts in a worker process, because libgit2 holds the interpreter lock; it opens no files."""
