"""Takes steps and operations back, and does them again; `operation` says how."""
