"""Sessions on their way between machines: what of a workspace is about one session, and nothing else."""
