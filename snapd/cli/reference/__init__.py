"""The documents about the command line, generated from the parser and from the types of the answers."""
