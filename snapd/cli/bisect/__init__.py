"""`snapd bisect`: finds the step that broke a command, by running it on snapshots in a folder of its own."""
