"""What happened in a workspace, and who changed what: sessions, steps, operations."""
