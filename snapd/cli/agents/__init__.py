"""The commands that agents and editors call, or that wire agents to snapd."""
