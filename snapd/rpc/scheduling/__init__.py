"""The order of requests, and the threads that run them."""
