"""Counts the work that each row of the benchmark takes, and compares it with what is committed: `make bench-guard`."""
