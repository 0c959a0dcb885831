"""Writes what follows from the tables of snapd: docs/cli.md, the contract, the types of the clients."""
