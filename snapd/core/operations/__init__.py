"""Changes the work tree: one writer, plans made before anything is touched, and recovery from a crash."""
