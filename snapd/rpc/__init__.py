"""The RPC edge: framing, connections, scheduling, notifications. Nothing below it knows JSON or asyncio."""
