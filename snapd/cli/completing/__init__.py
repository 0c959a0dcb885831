"""Completion: what a command line may go on with, asked for by the shells at each Tab."""
