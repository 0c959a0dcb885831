"""How a command reaches the workspace, and names what it is about."""
