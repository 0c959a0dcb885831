"""The work tree on disk: what is ignored, what changed, and how it is changed back."""
