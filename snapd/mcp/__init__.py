"""A Model Context Protocol server on standard input and output, with tools to inspect, undo and restore changes.

It supports the revisions 2025-06-18, 2025-11-25 and 2026-07-28 (https://modelcontextprotocol.io/specification), and is
a client of the daemon.
"""
