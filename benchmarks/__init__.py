"""Measures snapd over its real JSON-RPC against the git command-line algorithm, side by side in one run."""
