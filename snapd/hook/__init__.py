"""`snapd hook`: records the events that agents report. Agents wait for it, so it imports almost nothing."""
