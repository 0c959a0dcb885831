"""Tests of reading git-ai notes."""
