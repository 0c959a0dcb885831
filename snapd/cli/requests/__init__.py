"""How a command connects to the workspace, and resolves names."""
