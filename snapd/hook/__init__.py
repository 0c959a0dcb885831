"""`snapd hook`: turns the events that agents report into sessions, messages and steps.

An agent waits for its hooks, so this room imports next to nothing: no `typing`, no `attrs`, none of the command line.
"""
