"""The work tree on disk: what is ignored, what changed, and how changes are applied."""
