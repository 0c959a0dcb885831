"""The RPC layer: framing, connections, scheduling, notifications. No layer below it uses JSON or asyncio."""
