"""The purpose of snapd: snapshots of a workspace, their differences, and how to get them back.

Synchronous, and free of JSON, asyncio, sockets and the environment, so that it runs in a server and in a library.
Whatever reads objects raises `StoreCorrupt` if one is missing or damaged; whatever takes a `Call` may raise
`Cancelled`, and `IoError` if a comparison of texts fails.
"""
