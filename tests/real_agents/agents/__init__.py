"""The agents that are run for real, one module each."""
