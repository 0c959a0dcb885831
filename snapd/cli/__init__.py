"""The command line. Each command imports what it needs itself, so that a warm `snapd track` answers at once."""
