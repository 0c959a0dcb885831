"""Commands about agents; each loads its room late."""
