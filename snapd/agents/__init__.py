"""Connects agents to snapd: installs hooks into their settings, uninstalls them, and checks whether they work."""
