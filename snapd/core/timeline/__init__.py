"""What happened in a workspace, and whose change is whose: sessions, steps, operations."""
