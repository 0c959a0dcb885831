"""Files below an open directory: listings, stable reads, renames."""
