"""Streams, frames, messages, and the output of one connection."""
