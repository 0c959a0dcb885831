"""Keeps a store small: expires snapshots, packs objects, purges contents."""
