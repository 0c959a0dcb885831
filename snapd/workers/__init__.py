"""Processes of snapd itself: started, asked over pipes, ended."""
