"""Compares texts in a process of its own: libgit2 holds the interpreter lock for as long as a comparison takes.

The daemon has one such process, started when it is first needed, ended when it has been idle or when the request that
it works for is taken back. It is given bytes and gives bytes: it opens no file and knows no store.
"""
