"""`snapd hook`: turns the events that agents report into sessions, messages and steps.

Agents wait for their hooks, so this package imports almost nothing: no `typing`, no `attrs`, no command line.
"""
