"""The commands for the snapshots and sessions of a folder."""
