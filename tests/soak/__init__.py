"""Soak: agents, editors, a user, maintenance and kills on one daemon, with everything checked as it goes."""
