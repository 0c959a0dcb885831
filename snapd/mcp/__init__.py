"""A Model Context Protocol server on standard input and output: agents look at what was done, and take it back.

It speaks the revisions of 2025-06-18, 2025-11-25 and 2026-07-28 (https://modelcontextprotocol.io/specification), and is
a client of the daemon.
"""
