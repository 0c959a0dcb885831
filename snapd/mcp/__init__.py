"""A Model Context Protocol server on standard input and output (https://modelcontextprotocol.io/specification)."""
