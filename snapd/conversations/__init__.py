"""How the conversation with each agent goes on from before a prompt, in a new session that leaves the old one alone."""
