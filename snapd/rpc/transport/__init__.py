"""Bytes in and out: streams, frames, envelopes, and the output of one connection."""
