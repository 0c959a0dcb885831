"""The commands that stand between agents and the rest: each loads its face late."""
