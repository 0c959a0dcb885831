"""`snapd acp`: a proxy of the Agent Client Protocol that records what the agent does as steps.

It stands between an editor and an agent, which speak newline-delimited JSON-RPC 2.0 over pipes. Two threads carry the
bytes (`proxy`), one for each direction; what they carry is understood by `conversation`, and recorded by a thread for
each folder (`recording`), which alone waits for the daemon.
"""
