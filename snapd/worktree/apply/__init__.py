"""Carries out a plan on the work tree, and clears up after one that was cut short."""
