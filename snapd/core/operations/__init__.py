"""Changes the work tree: a single writer, plans made before any file is touched, and recovery from crashes."""
