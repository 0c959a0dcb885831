"""Tests of the process that compares texts."""
