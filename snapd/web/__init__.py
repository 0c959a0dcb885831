"""The page in the browser and the HTTP API: a server on loopback that is a client of the daemon."""
