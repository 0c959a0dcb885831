"""The order of requests, and the threads that carry them out."""
