"""The RPC edge, from outside: real processes, real sockets."""
