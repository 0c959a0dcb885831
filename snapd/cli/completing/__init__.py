"""Completion: what a command line may continue with, requested by the shells at each Tab."""
