"""Derives from the timeline who wrote each line, and which changes of agents were not reviewed yet."""
