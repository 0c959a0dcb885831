"""Wires agents to snapd: writes hooks into their settings, takes them out again, and finds out what really works."""
