"""Bytes in and out: framing, streams, envelopes, and the queue of what one client is sent."""
