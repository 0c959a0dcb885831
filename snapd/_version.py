"""The version of snapd, which clients and daemon compare."""

__version__ = "0.1.0"
