"""Worker processes of snapd."""
