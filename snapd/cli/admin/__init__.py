"""The commands for the daemon, the stores and this installation."""
