"""What snapd is about: snapshots of a workspace, their differences, and getting them back.

Synchronous, and free of JSON, asyncio, sockets and the environment: it may run in a server or in a library.
"""
