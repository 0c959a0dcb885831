"""Tests of what reads the work tree and its repository."""
