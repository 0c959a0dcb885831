"""The command line. What a command needs is imported by that command: a warm `snapd track` answers at once."""
