"""The RPC edge: framing, connections, execution, notifications. Nothing below it knows JSON or asyncio."""
