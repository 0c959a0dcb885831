"""The commands that agents call, or that wire agents to snapd."""
