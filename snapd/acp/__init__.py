"""`snapd acp`: a proxy for the Agent Client Protocol that records what the agent does as steps.

Editor and agent exchange newline-delimited JSON-RPC 2.0 over pipes. Two threads, one per direction, carry the bytes
(`proxy`); `conversation` interprets them; one thread per folder records steps (`recording`) and is the only one that
waits for the daemon.
"""
