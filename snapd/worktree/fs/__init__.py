"""The file system below a held descriptor: listings, stable reads, renames."""
